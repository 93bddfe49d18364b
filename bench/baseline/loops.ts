import { closeSync, fdatasync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { WorkflowFn, WorkflowOptions } from "../../packages/workflow/src/contract/contract.ts";

/** `blocking` syncs on the loop's own thread, `pool` on the runtime's thread pool. */
type Way = "blocking" | "pool";

const fdatasyncOnPool = promisify(fdatasync);

/** Minimal loop that records the steps of a workflow: requests a step, appends its line, requests the next step. */
export async function bareLoop(run: WorkflowFn, options: object, path: string, way: Way) {
  const fd = openSync(path, "a", 0o600);
  const generator = run({ prompt: "", steps: [] }, options as WorkflowOptions);
  for (;;) {
    const { value, done } = await generator.next();
    if (done) break;
    writeSync(fd, `${JSON.stringify({ ...value, timestamp: Date.now() })}\n`);
    if (way === "pool") await fdatasyncOnPool(fd);
    else fdatasyncSync(fd);
  }
  closeSync(fd);
}

// As a script, runs concurrent loops. Arguments: the bundle, a folder, the number of loops, the options.
if (import.meta.main) {
  const [bundle = "", folder = "", many, options = "{}"] = process.argv.slice(2);
  const { run } = (await import(bundle)) as { run: WorkflowFn };
  const loops = Array.from({ length: Number(many) }, (_, n) =>
    bareLoop(run, JSON.parse(options), join(folder, `${n}.jsonl`), "pool"),
  );
  await Promise.all(loops);
}
