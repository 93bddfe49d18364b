import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { stepsBundle } from "../../packages/workflow-steps/src/bundle/bundle.ts";
import type { WorkflowDocument } from "../../packages/workflow-steps/src/document/format.ts";
import { dataPath } from "../../packages/workflow/src/disk/paths.ts";
import { recordEvents } from "../../packages/workflow/src/worker/context.ts";
import { engineOf } from "../engine.ts";
import { inTurn, now, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore } from "../store.ts";

const count = 2000;

/** A serial loop whose body writes one variable. */
const loop: WorkflowDocument = {
  version: "3.18",
  name: "loop",
  registry: { params: ["items(ARRAY) = []"], vars: ["$sum(INT) = 0"] },
  steps: [
    { id: "Loop_All", source: "=items", mode: "serial", children: ["Work_Item"], next: "RETURN" },
    { id: "Work_Item", out: { $sum: "=_index" }, next: "RETURN" },
  ],
};

/**
 * An iteration of a loop of 2,000 in a step workflow, with its events in the debug log. The floor appends and syncs
 * the lines of its log.
 */
export const iteration: Row = {
  name: "iteration",
  async measure({ folder }) {
    const store = await makeStore(folder);
    // A worker records the events of the interpreter, so this process does too.
    recordEvents();
    const began: number[] = [];
    const bundle = stepsBundle(loop, {
      customHandlers: {
        Work: (context) => {
          began[Number(context.local("_index"))] = now();
        },
      },
    });
    const engine = engineOf(store, bundle);
    const params = { items: Array.from({ length: count }, (_, n) => n) };
    const run = async (durability: "os" | "step"): Promise<string[]> => {
      const threadId = await engine.keep({ durability, params });
      const log = readFileSync(dataPath(store.root, store.hash, threadId), "utf8");
      engine.remove(threadId);
      return log.split("\n").slice(0, -1);
    };
    const lines = await run("os");
    const samples = await inTurn(
      5,
      async () => ((await timed(() => append(store.folder, lines))) * 1000) / lines.length,
      async () => {
        await run("step");
        return (((began.at(-1) ?? Number.NaN) - (began[0] ?? 0)) * 1000) / (count - 1);
      },
    );
    const texts = { what: "an iteration of a step workflow", unit: "µs" };
    return [line({ ...texts, floorIs: "write + fdatasync", target: { ratio: 2 } }, samples)];
  },
};

function append(folder: string, lines: readonly string[]): void {
  const path = join(folder, "bare.jsonl");
  const fd = openSync(path, "wx", 0o600);
  for (const text of lines) {
    writeSync(fd, `${text}\n`);
    fdatasyncSync(fd);
  }
  closeSync(fd);
  rmSync(path);
}
