// The process in which `replays.ts` replays threads: foreign code runs here.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { openChannel } from "../bundle/child.ts";
import { loadProblem, toBundle } from "../bundle/module.ts";
import { guardRequires } from "../bundle/require-guard.ts";
import type { Bundle } from "../contract/contract.ts";
import { opensAttempts } from "../contract/attempt.ts";
import { answersFromFixture } from "../contract/fixture.ts";
import { type Recording, silence } from "./recording.ts";
import { impatientMs, replay } from "./replay.ts";
import type { ReplayAnswer, ReplayReport, ReplayRequest } from "./replays.ts";
import { replaceSurroundings } from "./surroundings.ts";

const { request: asked, answer, report } = openChannel();
const { path, env, files, isSlow, limitMs } = asked as ReplayRequest;
const read = readFileSync;
const parse = JSON.parse;
const now = performance.now.bind(performance);

/** Time between reports in milliseconds. Each report restarts the time limit of the process. */
const reportMs = 200;

// An abandoned replay may fail later.
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);
guardRequires(path, () => undefined);
replaceSurroundings(parse(read(env, "utf8")) as Record<string, string>);

const bundle = await load();
if (bundle !== null) await replayFiles(bundle.run);

async function load(): Promise<Bundle | null> {
  try {
    return toBundle((await import(pathToFileURL(path).href)) as object);
  } catch (thrown) {
    answer({ problem: loadProblem(thrown, path) } satisfies ReplayAnswer);
    return null;
  }
}

async function replayFiles(run: Bundle["run"]): Promise<void> {
  if (!(opensAttempts in run) || !(answersFromFixture in run)) {
    return answer({ unsupported: true } satisfies ReplayAnswer);
  }
  let reportedAt = 0;
  let reported: number | null = 0;
  const onProgress = (count: number | null) => {
    if (count === null && reported === null && now() - reportedAt < reportMs) return;
    reported = count;
    reportedAt = now();
    report({ count } satisfies ReplayReport);
  };
  let limit = limitMs;
  for (const file of files) {
    const recording = parse(read(file, "utf8")) as Recording;
    const { cwd = "/" } = recording.start.parameters.options;
    process.cwd = () => cwd;
    const verdict = await replay(run, recording, { limitMs: limit, onProgress, isSlow });
    if (verdict.at?.expected === silence(limit)) limit = Math.min(limit, impatientMs);
    report({ verdict } satisfies ReplayReport);
  }
  answer({ done: true } satisfies ReplayAnswer);
}
