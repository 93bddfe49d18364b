// The process in which `chaos.ts` runs a workflow: foreign code runs here.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openChannel } from "../bundle/child.ts";
import { toBundle } from "../bundle/module.ts";
import { guardRequires } from "../bundle/require-guard.ts";
import type { LoadedBundle } from "../bundle/store.ts";
import { isWorkflowError, messageOf, toErrorRecord } from "../contract/error.ts";
import { createRoot, openRoot } from "../disk/root.ts";
import { system } from "../system/system.ts";
import { recordEvents } from "../worker/context.ts";
import { isolate } from "../worker/isolate.ts";
import { placeIn } from "../worker/worker.ts";
import type { ChaosAnswer, ChaosRequest } from "./chaos.ts";
import { Surprise } from "./clock.ts";
import { runAll } from "./rounds.ts";

const { request: given, answer: send } = openChannel();
const answer = (value: ChaosAnswer): void => send(value);
const { folder } = given as { folder: string };

try {
  const request = (await Bun.file(join(folder, "request.json")).json()) as ChaosRequest;
  const { hash, sha256, work, start, fixture, seed } = request;
  const root = openRoot({ path: join(folder, "root") });
  createRoot(root);
  const path = join(folder, "bundle.esm.js");
  guardRequires(path);
  recordEvents();
  isolate({ failOnly: null, noteUncaught: () => undefined });
  const surprise = new Surprise();
  surprise.install();
  let loads = 0;
  const load = async (): Promise<LoadedBundle> => {
    loads += 1;
    // Each process has a module of its own.
    const module = (await import(`${pathToFileURL(path).href}?process=${loads}`)) as object;
    return { ...toBundle(module), sha256 };
  };
  const empty = (): void => {
    system.files.removeTree(work);
    system.files.makeFolder(work);
  };
  empty();
  const place = placeIn(root, hash);
  const scene = { hash, place, load, request: start, fixture, surprise, seed };
  answer({ facts: await runAll(scene, request) });
} catch (error) {
  answer({
    error: isWorkflowError(error)
      ? toErrorRecord(error)
      : { code: "INTERNAL", kind: "failed", message: messageOf(error) },
  });
}
process.kill(process.pid, "SIGKILL");
