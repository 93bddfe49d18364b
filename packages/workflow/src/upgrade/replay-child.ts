// The process in which `replays.ts` replays threads: foreign code runs here.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { openChannel } from "../bundle/child.ts";
import { loadProblem, toBundle } from "../bundle/module.ts";
import { guardRequires } from "../bundle/require-guard.ts";
import { opensAttempts } from "../contract/attempt.ts";
import { answersFromFixture } from "../contract/fixture.ts";
import type { Recording } from "./recording.ts";
import { replay } from "./replay.ts";
import type { ReplayAnswer, ReplayReport, ReplayRequest } from "./replays.ts";
import { replaceSurroundings } from "./surroundings.ts";

const { request: asked, answer, report } = openChannel();
const { path, files, limitMs } = asked as ReplayRequest;
const read = readFileSync;
const parse = JSON.parse;
const { now } = performance;

/** Time between reports in milliseconds. Each report restarts the time limit of the process. */
const reportMs = 200;

// An abandoned replay may fail later.
process.on("uncaughtException", () => undefined);
process.on("unhandledRejection", () => undefined);
guardRequires(path, () => undefined);
replaceSurroundings();

try {
  const { run } = toBundle((await import(pathToFileURL(path).href)) as object);
  if (!(opensAttempts in run) || !(answersFromFixture in run)) {
    answer({ unsupported: true } satisfies ReplayAnswer);
  }
  let reportedAt = now.call(performance);
  const onProgress = () => {
    if (now.call(performance) - reportedAt < reportMs) return;
    reportedAt = now.call(performance);
    report({ progress: true } satisfies ReplayReport);
  };
  let limit = limitMs;
  for (const file of files) {
    const recording = parse(read(file, "utf8")) as Recording;
    const { cwd = "/" } = recording.start.parameters.options;
    process.cwd = () => cwd;
    const verdict = await replay(run, recording, { limitMs: limit, onProgress });
    if (verdict.at?.expected === null) limit = Math.min(limit, 1_000);
    report({ verdict } satisfies ReplayReport);
  }
  answer({ done: true } satisfies ReplayAnswer);
} catch (thrown) {
  answer({ problem: loadProblem(thrown, path) } satisfies ReplayAnswer);
}
