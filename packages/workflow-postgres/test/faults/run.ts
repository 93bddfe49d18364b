import { printed } from "../../../workflow-restate/test/faults/run.ts";
import type { Kind } from "./acts.ts";
import { runFaults } from "./faults.ts";

/** Runs faults on a database with a replica, prints the outcome, and returns the exit code. */
export async function crashDatabase(options: {
  faults: number;
  kinds: readonly Kind[];
  seed: number;
}): Promise<number> {
  const begin = performance.now();
  const outcome = await runFaults({ ...options, report: (line) => console.error(line) });
  return printed(outcome, { servers: 2, seed: options.seed, begin });
}
