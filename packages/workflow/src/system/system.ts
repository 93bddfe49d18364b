import type { System } from "./port.ts";
import { realSystem } from "./real.ts";

/** The system that this process runs on. */
export let system: System = realSystem;

/** Puts another system in its place, for a test or a simulation; gives the one before. */
export function useSystem(other: System): System {
  const before = system;
  system = other;
  return before;
}
