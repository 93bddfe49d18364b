import { rmSync } from "node:fs";
import { loadBundle } from "../packages/workflow/src/bundle/load.ts";
import type { Durability } from "../packages/workflow/src/control/control.ts";
import { dataPath } from "../packages/workflow/src/storage/paths.ts";
import { durableWriting } from "../packages/workflow/src/thread-log/append.ts";
import { Threads } from "../packages/workflow/src/worker/threads.ts";
import { type Store, threadIdOf } from "./store.ts";

/** What a worker has inside, in this process: no socket, no other process. */
export function engineOf({ root, hash }: Store) {
  let ended = () => {};
  const threads: Threads = new Threads({
    root,
    hash,
    load: () => loadBundle(root, hash),
    writing: durableWriting(),
    note: () => {},
    onChange: () => {
      if (!threads.busy) ended();
    },
  });
  let started = 0;
  return {
    /** Runs one thread to its end, and deletes it. */
    async run(options: Record<string, unknown>, durability: Durability): Promise<void> {
      started += 1;
      const threadId = threadIdOf(started);
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      const request = { threadId, workflow: hash, maxRounds: 1_000_000, options };
      await threads.start({ ...request, env: {}, durability });
      await promise;
      rmSync(dataPath(root, hash, threadId));
    },
  };
}
