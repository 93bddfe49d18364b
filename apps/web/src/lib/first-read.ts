import { createAtom, useSelector } from "@tanstack/react-store";
import { useEffect } from "react";

const firstRead = createAtom(false);

/** Maximum time that other requests wait for the first read, in milliseconds. */
const mostMs = 3_000;

/** Reports that the page has its content. Other requests would delay the content on a slow connection. */
export const reportFirstRead = (): void => firstRead.set(true);

/** Tells whether the page has its content. */
export function useIsFirstRead(): boolean {
  useEffect(() => {
    const timer = setTimeout(reportFirstRead, mostMs);
    return () => clearTimeout(timer);
  }, []);
  return useSelector(firstRead);
}
