import { useSyncExternalStore } from "react";

let isDone = false;
const listeners = new Set<() => void>();

/** Most time that other requests wait for the first read, in milliseconds. */
const mostMs = 3_000;

/** Reports that the page has its content. Requests for anything else would delay it on a slow line. */
export function reportFirstRead(): void {
  isDone = true;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  const timer = setTimeout(reportFirstRead, mostMs);
  return () => {
    clearTimeout(timer);
    listeners.delete(listener);
  };
}

/** Whether the page has its content. */
export const useIsFirstRead = (): boolean => useSyncExternalStore(subscribe, () => isDone);
