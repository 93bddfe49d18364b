import { useSyncExternalStore } from "react";

/** Whether the server is heard: `lost` until it is reached again. */
export type Connection = "open" | "lost";

const streams = new Map<object, Connection>();
const listeners = new Set<() => void>();

/** Tells how a stream stands; null when there is no such stream any more. */
export function setConnection(stream: object, connection: Connection | null): void {
  if (connection === null) streams.delete(stream);
  else streams.set(stream, connection);
  for (const listener of listeners) listener();
}

const connection = (): Connection => ([...streams.values()].includes("lost") ? "lost" : "open");

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How the page's streams stand: lost when one of them is. */
export const useConnection = (): Connection => useSyncExternalStore(subscribe, connection);
