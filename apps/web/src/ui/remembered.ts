import { store, useStored } from "../lib/stored.ts";

/** A switch whose state is stored in this browser. */
export const useRemembered = (key: string) =>
  [useStored(key) === "on", (on: boolean) => void store(key, on ? "on" : "off")] as const;
