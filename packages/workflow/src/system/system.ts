import type { System } from "./port.ts";
import { realSystem } from "./real.ts";

/** The system that this process runs on. */
export let system: System = realSystem;

/** Replaces the system for a test or a simulation; returns the previous system. */
export function useSystem(other: System): System {
  const before = system;
  system = other;
  return before;
}
