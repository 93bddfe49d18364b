// The process that `chaos.ts` starts to run a workflow. Foreign code runs in it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openChannel } from "../bundle/child.ts";
import { toBundle } from "../bundle/module.ts";
import { guardRequires } from "../bundle/require-guard.ts";
import type { LoadedBundle } from "../bundle/store.ts";
import { opensAttempts } from "../contract/attempt.ts";
import { ulidTime } from "../contract/base32.ts";
import { isThreadId } from "../contract/names.ts";
import { toErrorRecord } from "../contract/error.ts";
import { createRoot, openRoot } from "../disk/root.ts";
import { system } from "../system/system.ts";
import { recordEvents } from "../worker/context.ts";
import { isolate } from "../worker/isolate.ts";
import { placeIn } from "../worker/worker.ts";
import { answering } from "./answering.ts";
import type { ChaosAnswer, ChaosRequest } from "./chaos.ts";
import { Surprise } from "./clock.ts";
import { WorkFolder } from "./folder.ts";
import { runAll } from "./rounds.ts";

const { request: given, answer: send } = openChannel();
const answer = (value: ChaosAnswer): void => send(value);
/** Returns the time in a thread's id; null for an invalid id. */
const timeOf = (threadId: string): number | null =>
  isThreadId(threadId) ? ulidTime(threadId) : null;
const { folder } = given as { folder: string };

try {
  const request = (await Bun.file(join(folder, "request.json")).json()) as ChaosRequest;
  const { hash, sha256, work, files, isLive, fixture, seed } = request;
  const root = openRoot({ path: join(folder, "root") });
  const path = join(folder, "bundle.esm.js");
  guardRequires(path);
  recordEvents();
  isolate({ failOnly: null, noteUncaught: () => undefined });
  const surprise = new Surprise(fixture && timeOf(fixture.threadId));
  surprise.install();
  let loads = 0;
  let last: LoadedBundle | null = null;
  const load = async (isSecond: boolean): Promise<LoadedBundle> => {
    if (isSecond && last) return last;
    loads += 1;
    // Each simulated process loads its own copy of the module.
    const module = (await import(`${pathToFileURL(path).href}?process=${loads}`)) as object;
    last = { ...toBundle(module), sha256 };
    return last;
  };
  const { run } = await load(false);
  surprise.isKnown = opensAttempts in run;
  const { answers, options } = answering(run, { fixture, isLive, name: request.start.workflow });
  const workFolder = new WorkFolder(work, files);
  const reset = () => {
    workFolder.reset();
    system.files.removeTree(root);
    createRoot(root);
    return placeIn(root, hash);
  };
  const start = { ...request.start, options: { ...request.start.options, ...options } };
  const scene = {
    ...{ hash, reset, load, request: start, fixture, surprise, seed, answers },
    ...{ folder: isLive ? workFolder : null, patienceMs: 100 },
  };
  answer({ facts: await runAll(scene, request) });
} catch (error) {
  answer({ error: toErrorRecord(error) });
}
