import { join } from "node:path";
import { type LoadedBundle, loadBundle } from "../bundle/store.ts";
import { messageOf } from "../contract/error.ts";
import { controlTimeoutMs } from "../control/control.ts";
import { SpendingBook } from "../disk/spending.ts";
import { DiskStore } from "../disk/store.ts";
import { noteLeft, threadWithId } from "../disk/threads.ts";
import { CopiedCommits } from "../disk/worktrees.ts";
import { startedInRoot } from "../disk/identity.ts";
import { takeLock } from "../disk/lock.ts";
import { checkUnrestored, noteRecovery } from "../disk/recovery.ts";
import { lockPath, type Root, runDir, socketName, workerInfoPath } from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { markVariable } from "../system/worker-env.ts";
import { SharedEnv } from "./context.ts";
import { rootPlace } from "./drive.ts";
import { Orphans } from "./orphans.ts";
import { ControlServer } from "./server.ts";
import { oldJournals } from "./old-journal.ts";
import type { ThreadsParts } from "./parts.ts";
import { ThreadSpending } from "./spending.ts";
import { Threads } from "./threads.ts";
import { WorkerInfoFile } from "./worker-info.ts";
import { loadTimeout } from "../bundle/errors.ts";

/** In milliseconds, shorter than a client's timeout, so that the reason reaches the client. */
const loadTimeoutMs = controlTimeoutMs - 5_000;
/** The exit code of a worker that did not get the lock. */
const busyCode = 75;
/** Minimum idle timeout of a worker before its first request, in milliseconds. */
const firstRequestMs = 5_000;
/** Time in milliseconds for which a worker that has released its threads still refuses waiting requests. */
const lingerMs = 250;

/** `mark` is the value of {@link markVariable}, which the processes of its bundle inherit. */
export type WorkerOptions = { root: Root; hash: string; idleMs: number; mark?: string };

/**
 * Runs the worker of a hash in this process until it exits. It takes the hash's lock or exits with 75, serves the
 * control socket, and exits after `idleMs` milliseconds without work, but waits at least {@link firstRequestMs} for its
 * first request. It loads the bundle at once, and again for each request that needs a bundle whose load has failed; the
 * failure is then the response.
 *
 * All state is in this call. `isolate` is called once, before the bundle's top level runs.
 */
export function runWorker(
  { root, hash, idleMs, mark = "" }: WorkerOptions,
  isolate: (threads: Threads) => void,
): void {
  const lock = takeLock(lockPath(root, hash), 0);
  if (!lock) system.processes.exit(busyCode);

  const info = new WorkerInfoFile(workerInfoPath(root, hash), mark);
  // Threads must not run while processes of a lost worker run.
  const { lostMarks } = info;
  const orphans = new Orphans(lostMarks, () => info.forget(lostMarks));
  let bundle: Promise<LoadedBundle> | null = null;
  let cancelRest: (() => void) | null = null;
  let server: ControlServer | null = null;
  let closing = false;
  let isIsolated = false;

  const store = new DiskStore(root, { lockedHash: hash, distrustsCache: info.followsLost });
  const threads = new Threads({
    store,
    hash,
    place: placeIn(root, hash),
    orphans: {
      ended: orphans.ended,
      get report() {
        return orphans.report;
      },
      besideFork: (source) => orphans.besideFork(root, hash, source),
    },
    env: new SharedEnv(mark === "" ? {} : { [markVariable]: mark }),
    load,
    note: (threadId, live) => info.note(threadId, live),
    onChange: rest,
  });

  system.processes.onStop(() => void close());
  server = new ControlServer(join(runDir(root), socketName(hash)), threads, rest);
  // The request that started this worker loads the bundle again if this load fails, and reports the reason.
  void load().catch(() => undefined);
  server.listen();
  rest();

  function load(): Promise<LoadedBundle> {
    bundle ??= prepare().catch((error) => {
      bundle = null;
      throw error;
    });
    return bundle;
  }

  async function prepare(): Promise<LoadedBundle> {
    const isolateOnce = () => {
      if (!isIsolated) isolate(threads);
      isIsolated = true;
    };
    const loaded = orphans.ended.then(() => loadBundle(root, hash, isolateOnce));
    return await inTime(hash, loaded);
  }

  /** Restarts the idle timer while there is no work. */
  function rest(): void {
    cancelRest?.();
    cancelRest = null;
    if (closing || !isIdle()) return;
    const ms = server?.wasAsked ? idleMs : Math.max(idleMs, firstRequestMs);
    cancelRest = system.clock.after(ms, () => isIdle() && void close());
  }

  function isIdle(): boolean {
    return (server?.pending ?? 0) === 0 && !threads.busy;
  }

  async function close(): Promise<void> {
    if (closing) return;
    closing = true;
    let isReleased = false;
    const cleanUps = [
      () => server?.close(),
      async () => {
        await threads.release();
        isReleased = true;
      },
      () => (info.followsLost || store.hasUnsynced ? info.forget([mark]) : info.remove()),
      // While a thread is still driven, keep the lock until this process ends.
      () => isReleased && lock?.release(),
      () => system.clock.sleep(lingerMs),
    ];
    for (let n = 0; n < cleanUps.length; n += 1) {
      try {
        await cleanUps[n]?.();
      } catch (error) {
        // A failed cleanup must not block the exit: the next worker can start anyway.
        console.error(messageOf(error));
      }
    }
    system.processes.exit(0);
  }
}

/** The parts of a storage root, besides the store, that a bundle's threads use. */
export const placeIn = (root: Root, hash: string): ThreadsParts["place"] => ({
  ...rootPlace(root, hash),
  spending: spendingIn(root, hash),
  noteCopied(threadId, steps) {
    const commits = new CopiedCommits();
    for (const step of steps) commits.add(step);
    commits.note(root, threadId);
  },
  oldEntries: (start) => oldJournals(root, start, async (threadId) => threadWithId(root, threadId)),
  startedIn: (env) => startedInRoot(root, env),
  checkUnrestored: (ref) => checkUnrestored(root, ref),
  async recover({ start, steps, thread }, env, descriptor) {
    noteRecovery(root, { start, steps, paused: thread.paused }, env, descriptor);
  },
  leave: (ref, to, isPaused) => noteLeft(root, ref, to, isPaused),
});

function spendingIn(root: Root, hash: string): ThreadsParts["place"]["spending"] {
  const book = new SpendingBook(root, hash);
  return (thread) => new ThreadSpending(root, book, thread);
}

/** Rejects when a bundle's top level does not end in time. @throws WorkflowError `BUNDLE_LOAD_FAILED` */
async function inTime(hash: string, loaded: Promise<LoadedBundle>): Promise<LoadedBundle> {
  const late = Promise.withResolvers<never>();
  const cancel = system.clock.after(loadTimeoutMs, () => {
    late.reject(loadTimeout(hash, loadTimeoutMs));
  });
  try {
    return await Promise.race([loaded, late.promise]);
  } finally {
    cancel();
  }
}
