import { closeSync, fdatasync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { WorkflowFn, WorkflowOptions } from "../../packages/workflow/src/contract/contract.ts";

/** How a bare loop writes: `none` does not sync, the others are three ways to do it. */
export type Way = "none" | "sync" | "pool" | "handle";

export const syncedWays: Way[] = ["sync", "pool", "handle"];

type Append = { append: (line: string) => Promise<void> | void; close: () => unknown };

const fdatasyncLater = promisify(fdatasync);

/** The least that keeps what a workflow yields: takes a step, appends its line, takes the next. */
export async function bareLoop(run: WorkflowFn, options: object, path: string, way: Way) {
  const { append, close } = await appender(path, way);
  const generator = run({ prompt: "", steps: [] }, options as WorkflowOptions);
  for (;;) {
    const { value, done } = await generator.next();
    if (done) break;
    await append(`${JSON.stringify({ ...value, timestamp: Date.now() })}\n`);
  }
  await close();
}

async function appender(path: string, way: Way): Promise<Append> {
  if (way === "handle") {
    const handle = await open(path, "a", 0o600);
    return {
      append: async (line) => {
        await handle.write(line);
        await handle.datasync();
      },
      close: () => handle.close(),
    };
  }
  const fd = openSync(path, "a", 0o600);
  const sync = { none: () => {}, sync: () => fdatasyncSync(fd), pool: () => fdatasyncLater(fd) };
  return {
    append: (line) => {
      writeSync(fd, line);
      return sync[way]();
    },
    close: () => closeSync(fd),
  };
}

// As a script: many loops at once. Arguments: the bundle, a folder, the way, how many, the options.
if (import.meta.main) {
  const [bundle = "", folder = "", way, many, options = "{}"] = process.argv.slice(2);
  const { run } = (await import(bundle)) as { run: WorkflowFn };
  const loops = Array.from({ length: Number(many) }, (_, n) =>
    bareLoop(run, JSON.parse(options), join(folder, `${n}.jsonl`), way as Way),
  );
  await Promise.all(loops);
}
