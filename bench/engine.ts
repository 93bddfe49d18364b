import { rmSync } from "node:fs";
import { loadBundle } from "../packages/workflow/src/bundle/store.ts";
import type { Bundle } from "../packages/workflow/src/contract/contract.ts";
import type { Durability, StartRequest } from "../packages/workflow/src/control/control.ts";
import { DiskStore } from "../packages/workflow/src/disk/store.ts";
import { dataPath, infoPath } from "../packages/workflow/src/disk/paths.ts";
import { SharedEnv } from "../packages/workflow/src/worker/context.ts";
import { Threads } from "../packages/workflow/src/worker/threads.ts";
import { placeIn } from "../packages/workflow/src/worker/worker.ts";
import { type Store, threadIdOf } from "./store.ts";

type Given = Pick<StartRequest, "durability" | "options" | "params">;

/** Runs the engine of a worker in this process, without a socket. */
export function engineOf({ root, hash }: Store, bundle?: Bundle) {
  let ended = () => {};
  const threads: Threads = new Threads({
    store: new DiskStore(root),
    hash,
    place: placeIn(root, hash),
    load: async () =>
      bundle ? { ...bundle, sha256: "0".repeat(64) } : await loadBundle(root, hash),
    orphans: { ended: Promise.resolve(), report: {}, besideFork: async () => ({}) },
    env: new SharedEnv({}),
    note: () => {},
    onChange: () => {
      if (!threads.busy) ended();
    },
  });
  let started = 0;
  return {
    /** Runs one thread to its end and deletes it. */
    async run(options: Record<string, unknown>, durability: Durability): Promise<void> {
      this.remove(await this.keep({ options, durability }));
    },
    /** Runs one thread to its end and returns its id. */
    async keep(given: Given): Promise<string> {
      started += 1;
      const threadId = threadIdOf(started);
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      await threads.start({ threadId, workflow: hash, maxRounds: 1_000_000, env: {}, ...given });
      await promise;
      return threadId;
    },
    /** Resumes a thread. `after` resolves when the thread has ended. */
    async resume(threadId: string): Promise<{ after: Promise<void> }> {
      const { promise, resolve } = Promise.withResolvers<void>();
      ended = resolve;
      await threads.resume(threadId, { env: {} });
      return { after: promise };
    },
    remove(threadId: string): void {
      rmSync(dataPath(root, hash, threadId));
      rmSync(infoPath(root, hash, threadId), { force: true });
    },
  };
}
