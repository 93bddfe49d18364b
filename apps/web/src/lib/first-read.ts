import { useEffect } from "react";
import { createStore } from "./store.ts";

const firstRead = createStore(false);

/** Maximum time that other requests wait for the first read, in milliseconds. */
const mostMs = 3_000;

/** Reports that the page has its content. Requests for anything else would delay it on a slow line. */
export const reportFirstRead = (): void => firstRead.set(true);

/** Whether the page has its content. */
export function useIsFirstRead(): boolean {
  useEffect(() => {
    const timer = setTimeout(reportFirstRead, mostMs);
    return () => clearTimeout(timer);
  }, []);
  return firstRead.use();
}
