/**
 * The worker: the one process that runs all threads of one bundle hash.
 *
 *     bun worker/main.ts <root> <hash> <idleMs>
 *
 * Its folder is `<root>/run`. It takes the hash's lock or exits with 75; serves the control socket; and
 * exits automatically when it has had nothing to run for `idleMs` milliseconds. It loads the bundle at
 * once, and again for each request that needs one that could not be loaded: that is then its answer.
 */
import { join } from "node:path";
import { loadBundle } from "../bundle/store.ts";
import type { Bundle } from "../contract/contract.ts";
import { messageOf, WorkflowError } from "../contract/error.ts";
import { controlTimeoutMs } from "../control/control.ts";
import { durableWriting } from "../log/writer.ts";
import { takeLock } from "../storage/lock.ts";
import { lockPath, type Root, runDir, socketName, workerInfoPath } from "../storage/paths.ts";
import { recordEvents } from "./context.ts";
import { capturePrints, catchCrashes, guardExit } from "./isolate.ts";
import { type ControlServer, serveControl } from "./server.ts";
import { Threads } from "./threads.ts";
import { WorkerInfoFile } from "./worker-info.ts";

const loadTimeoutMs = controlTimeoutMs - 2_000;
/** The exit code of a worker that found another one in its place. */
const busyCode = 75;
/** How long a worker that has let everything go still refuses the requests that were on their way to it. */
const lingerMs = 250;

process.umask(0o077);
const [root, hash, idleText] = process.argv.slice(2) as [Root, string, string];
const lock = takeLock(lockPath(root, hash), 0);
if (!lock) process.exit(busyCode);

const exit = guardExit();
const idleMs = Number(idleText);
const info = new WorkerInfoFile(workerInfoPath(root, hash));
let bundle: Promise<Bundle> | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let server: ControlServer | null = null;
let closing = false;
let prepared = false;

const threads = new Threads({
  root,
  hash,
  followsLost: info.followsLost,
  load,
  writing: durableWriting(),
  note: (threadId, live) => info.note(threadId, live),
  onChange: rest,
});

process.on("SIGTERM", () => void close());
process.on("SIGINT", () => void close());
server = serveControl(socketName(hash), join(runDir(root), socketName(hash)), threads, rest);
// The request that this worker was started for is on its way. Should this fail, its own load reports it.
void load().catch(() => undefined);
rest();

function load(): Promise<Bundle> {
  bundle ??= prepare().catch((error) => {
    bundle = null;
    throw error;
  });
  return bundle;
}

async function prepare(): Promise<Bundle> {
  if (!prepared) {
    capturePrints();
    recordEvents();
    catchCrashes(threads);
  }
  prepared = true;
  return Promise.race([loadBundle(root, hash), lateLoad()]);
}

// A top level that never ends must be an answer too, and come before the one who asked gives up.
async function lateLoad(): Promise<never> {
  await Bun.sleep(loadTimeoutMs);
  const message = `the bundle ${hash} was not loaded within ${loadTimeoutMs / 1000} s`;
  const hint = "its top level may wait for something: do the work in run";
  throw WorkflowError.failed("BUNDLE_LOAD_FAILED", message, hint);
}

/** Arms the idle timer anew while there is nothing to run. */
function rest(): void {
  if (timer) clearTimeout(timer);
  timer = null;
  if (!closing && isIdle()) timer = setTimeout(() => isIdle() && void close(), idleMs);
}

// Asked again when the time is over: a request that came in between may still load the bundle.
function isIdle(): boolean {
  return !threads.busy && (server?.pending ?? 0) === 0;
}

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  const cleanUps = [
    () => server?.close(),
    () => threads.release(),
    () => threads.hasUnsynced || info.remove(),
    () => lock?.release(),
    () => Bun.sleep(lingerMs),
  ];
  for (const cleanUp of cleanUps) {
    try {
      await cleanUp();
    } catch (error) {
      // Of what can't be cleaned up nothing keeps the next worker from beginning; one that stays would.
      console.error(messageOf(error));
    }
  }
  exit(0);
}
