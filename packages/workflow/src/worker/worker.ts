import { join } from "node:path";
import { loadBundle } from "../bundle/store.ts";
import type { Bundle } from "../contract/contract.ts";
import { messageOf, WorkflowError } from "../contract/error.ts";
import { controlTimeoutMs } from "../control/control.ts";
import { durableWriting } from "../log/writing.ts";
import { takeLock } from "../storage/lock.ts";
import { lockPath, type Root, runDir, socketName, workerInfoPath } from "../storage/paths.ts";
import type { ProcessIdentity, SocketRequest, SocketResponse } from "../system/port.ts";
import { markVariable, type PreparedLog } from "../system/prewarm.ts";
import { whenOverdue } from "../system/overdue.ts";
import { system } from "../system/system.ts";
import { SharedEnv } from "./context.ts";
import { Orphans } from "./orphans.ts";
import { ControlServer } from "./server.ts";
import { Threads } from "./threads.ts";
import { WorkerInfoFile } from "./worker-info.ts";

const loadTimeoutMs = controlTimeoutMs - 2_000;
/** The exit code of a worker that found another one in its place. */
const busyCode = 75;
/** A worker that was started with a request listens after so many milliseconds, also where that is not answered yet. */
const latestListenMs = 20;
/** How long a worker that has let everything go still refuses the requests that were on their way to it. */
const lingerMs = 250;

/** `mark` is what its environment has of {@link markVariable}, which the processes that it starts inherit. */
export type WorkerOptions = {
  root: Root;
  hash: string;
  idleMs: number;
  mark?: string;
  first?: FirstRequest | null;
};

/** A request that a worker is started with, and what takes the response to it. */
export type FirstRequest = {
  request: SocketRequest;
  respond: (response: SocketResponse) => void;
  /** Who this process is, where that is known. */
  identity: ProcessIdentity | null;
  /** Folders whose names are durable. */
  made: string[];
  /** The log of the thread that it starts. */
  log: PreparedLog | null;
};

/**
 * Runs the worker of a hash in this process, until it exits. It takes the hash's lock or exits with 75; serves
 * the control socket; and exits automatically when it has had nothing to run for `idleMs` milliseconds. It loads the
 * bundle at once, and again for each request that needs one that could not be loaded: that is then its answer.
 *
 * All of its state is in this call. `isolate` is called once, before a bundle's top level runs: what a bundle may do to
 * the process that it shares is then kept from others.
 */
export function runWorker(
  { root, hash, idleMs, mark = "", first = null }: WorkerOptions,
  isolate: (threads: Threads) => void,
): void {
  const lock = takeLock(lockPath(root, hash), 0);
  if (!lock) system.processes.exit(busyCode);

  const info = new WorkerInfoFile(workerInfoPath(root, hash), mark, first?.identity);
  // Nothing is driven beside what a lost worker has left.
  const { lostMarks } = info;
  const orphans = new Orphans(lostMarks, () => info.forget(lostMarks));
  let bundle: Promise<Bundle> | null = null;
  let cancelRest: (() => void) | null = null;
  let server: ControlServer | null = null;
  let closing = false;
  let isIsolated = false;

  const threads = new Threads({
    root,
    hash,
    followsLost: info.followsLost,
    orphans,
    env: new SharedEnv(mark === "" ? {} : { [markVariable]: mark }),
    load,
    writing: durableWriting(first?.made, first?.log),
    note: (threadId, live) => info.note(threadId, live),
    onChange: rest,
  });

  system.processes.onStop(() => void close());
  server = new ControlServer(join(runDir(root), socketName(hash)), threads, rest);
  // The request that this worker was started for is on its way. Should this fail, its own load reports it.
  void load().catch(() => undefined);
  if (first) void answerFirst(server, first);
  else server.listen();
  rest();

  /**
   * Answers the request that this process was started with, and listens when its thread has had its first turn: Bun
   * takes longer to serve than a thread to commit a step. Who finds nobody listening until then, and this process alive, asks again.
   */
  async function answerFirst(own: ControlServer, { request, respond }: FirstRequest) {
    const cancel = system.clock.after(latestListenMs, () => own.listen());
    try {
      const response = await own.answer(request);
      await system.clock.turn();
      cancel();
      own.listen();
      respond(response);
    } catch (error) {
      // Nobody can reach it, and whoever has sent the request asks another one.
      console.error(messageOf(error));
      void close();
    }
  }

  function load(): Promise<Bundle> {
    bundle ??= prepare().catch((error) => {
      bundle = null;
      throw error;
    });
    return bundle;
  }

  async function prepare(): Promise<Bundle> {
    const isolateOnce = () => {
      if (!isIsolated) isolate(threads);
      isIsolated = true;
    };
    const loaded = orphans.ended.then(() => loadBundle(root, hash, isolateOnce));
    return await inTime(hash, loaded);
  }

  /** Arms the idle timer anew while there is nothing to run. */
  function rest(): void {
    cancelRest?.();
    cancelRest = null;
    if (closing || !isIdle()) return;
    cancelRest = system.clock.after(idleMs, () => isIdle() && void close());
  }

  // Asked again when the time is over: a request that came in between may still load the bundle.
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
      () => (info.followsLost || threads.hasUnsynced ? info.forget([mark]) : info.remove()),
      // A thread that is still driven keeps it until this process is gone.
      () => isReleased && lock?.release(),
      () => system.clock.sleep(lingerMs),
    ];
    for (let n = 0; n < cleanUps.length; n += 1) {
      try {
        await cleanUps[n]?.();
      } catch (error) {
        // Of what can't be cleaned up nothing keeps the next worker from beginning; one that stays would.
        console.error(messageOf(error));
      }
    }
    system.processes.exit(0);
  }
}

// A top level that never ends must be an answer too, and come before the one who asked gives up.
async function inTime(hash: string, loaded: Promise<Bundle>): Promise<Bundle> {
  const late = Promise.withResolvers<never>();
  const cancel = whenOverdue(
    loadTimeoutMs,
    () => system.processes.pid,
    () => {
      const message = `the bundle ${hash} was not loaded within ${loadTimeoutMs / 1000} s`;
      const hint = "its top level may wait for something: do the work in run";
      late.reject(WorkflowError.failed("BUNDLE_LOAD_FAILED", message, hint));
    },
  );
  try {
    return await Promise.race([loaded, late.promise]);
  } finally {
    cancel();
  }
}
