import { createAtom, useSelector } from "@tanstack/react-store";
import type { Connection } from "./hub.ts";

const connection = createAtom<Connection>("open");
const refused = createAtom<ReadonlySet<number>>(new Set<number>());

/** Sets the state of the connection that all tabs share. */
export const setConnection = (state: Connection): void => connection.set(state);

/** Sets whether the server refuses a stream of this page. */
export function setRefused(id: number, isRefused: boolean): void {
  if (refused.get().has(id) === isRefused) return;
  refused.set((before) => before.symmetricDifference(new Set([id])));
}

/** The state of this page's connection to the server. */
export function useConnection(): Connection {
  const [own, isRefused] = [useSelector(connection), useSelector(refused).size > 0];
  return own === "open" && isRefused ? "refused" : own;
}
