import { type Step, WAIT } from "../contract/contract.ts";
import { wakesAt } from "../contract/wait.ts";
import type { ThreadState } from "./store.ts";

/** Returns the state of a thread after its last step. A question in the last round does not make it wait. */
export function stateAfter(last: Step | null, steps: number, maxRounds: number): ThreadState {
  if (last?.role !== WAIT || steps >= maxRounds) return { kind: "running" };
  return { kind: "waiting", dueAt: wakesAt(last) };
}
