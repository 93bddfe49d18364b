import { readFileSync } from "node:fs";
import { stepsBundle } from "../../packages/workflow-steps/src/bundle/bundle.ts";
import type { Durability } from "../../packages/workflow/src/control/control.ts";
import { dataPath } from "../../packages/workflow/src/storage/paths.ts";
import { recordEvents } from "../../packages/workflow/src/worker/context.ts";
import { engineOf } from "../engine.ts";
import { now } from "../measure.ts";
import type { Store } from "../store.ts";
import { loopOf } from "./documents.ts";

/** Iterations of the loop that the threads run. */
export const iterations = 10_000;

// As workers do: the events of the interpreter are written to the thread's debug log.
recordEvents();

/**
 * Threads of one loop, in this process. Its body is a step that only makes the writes of `out`;
 * `began` gets the time at which each iteration began its work.
 */
export function loopThreads(store: Store, out: Record<string, unknown>) {
  const began: number[] = [];
  const { run, descriptor } = stepsBundle(loopOf({ id: "Work_Item", out }), {
    customHandlers: {
      Work: (context) => {
        began[Number(context.local("_index"))] = now();
      },
    },
  });
  const engine = engineOf(store, { run, descriptor });
  const items = Array.from({ length: iterations }, (_, n) => `item${String(n).padStart(6, "0")}`);
  return {
    began,
    engine,
    items,
    /** Runs the loop to its end, and gives the lines of its log. */
    async run(durability: Durability): Promise<string[]> {
      const threadId = await engine.keep({ durability, params: { items } });
      const log = readFileSync(dataPath(store.root, store.hash, threadId), "utf8");
      engine.remove(threadId);
      return log.split("\n").slice(0, -1);
    },
  };
}
