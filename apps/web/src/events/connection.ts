import { useSyncExternalStore } from "react";

/** Whether the server is heard: `lost` until it is reached again, `refused` where it is and says no. */
export type Connection = "open" | "lost" | "refused";

const streams = new Map<object, Connection>();
const listeners = new Set<() => void>();

/** Tells how a stream stands; null when there is no such stream any more. */
export function setConnection(stream: object, connection: Connection | null): void {
  if (connection === null) streams.delete(stream);
  else streams.set(stream, connection);
  for (const listener of listeners) listener();
}

function worst(): Connection {
  const all = [...streams.values()];
  return (["lost", "refused"] as const).find((one) => all.includes(one)) ?? "open";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** How the page's streams stand: the worst of them. */
export const useConnection = (): Connection => useSyncExternalStore(subscribe, worst);
