import type { Connection } from "./hub.ts";
import { createStore } from "./store.ts";

const connection = createStore<Connection>("open");
const refused = createStore<ReadonlySet<number>>(new Set());

/** Sets the state of the connection that all tabs share. */
export const setConnection = (state: Connection): void => connection.set(state);

/** Sets whether the server refuses a stream of this page. */
export function setRefused(id: number, isRefused: boolean): void {
  if (refused.get().has(id) === isRefused) return;
  const others = [...refused.get()].filter((one) => one !== id);
  refused.set(new Set(isRefused ? [...others, id] : others));
}

/** The state of this page's connection to the server. */
export function useConnection(): Connection {
  const [own, isRefused] = [connection.use(), refused.use().size > 0];
  return own === "open" && isRefused ? "refused" : own;
}
