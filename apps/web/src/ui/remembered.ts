import { store, useStored } from "../lib/stored.ts";

/** A switch that this browser remembers. */
export const useRemembered = (key: string) =>
  [useStored(key) === "on", (on: boolean) => void store(key, on ? "on" : "off")] as const;
