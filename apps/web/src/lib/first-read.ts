import { useEffect } from "react";
import { createStore } from "./store.ts";

const firstRead = createStore(false);

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
  return firstRead.use();
}
