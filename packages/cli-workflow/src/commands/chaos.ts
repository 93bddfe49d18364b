import { runChaos } from "@uncaged/workflow/internal";
import { withName } from "../arguments/names.ts";
import { wholeNumber } from "../arguments/options.ts";
import { failsAlone } from "../chaos/errors.ts";
import { type InputOptions, inputsOf } from "../chaos/inputs.ts";
import { type ChaosReport, reportText } from "../chaos/report.ts";
import { exitCodes } from "../output/exit-code.ts";
import { defineCommand } from "../session/command.ts";
import { shellWord } from "../session/own-command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Options = InputOptions & { seed?: number; runs?: number; run?: number };

const mostSeeds = 2 ** 32 - 1;
const mostRuns = 10_000;

export default defineCommand({
  declare: (command) =>
    command
      .argument("<name>", "a name, name@hash, or the hash of a bundle")
      .option(
        "--seed <n>",
        "the seed of the faults (default: random)",
        wholeNumber("--seed", 0, mostSeeds),
      )
      .option(
        "--runs <n>",
        "the number of runs (default: each fault at each boundary once)",
        wholeNumber("--runs", 1, mostRuns),
      )
      .option("--run <n>", "make only this run of the seed", wholeNumber("--run", 1, mostRuns))
      .option(
        "--thread <id>",
        "the thread that answers roles and questions (default: the newest completed thread)",
      )
      .option(
        "--fixture <file>",
        "a fixture that answers roles and questions, from thread --fixture",
      )
      .option("--prompt <text>", "another prompt")
      .option("--params <json>", "other params: JSON, or @file")
      .option(
        "--live",
        "run the roles themselves, many times, in a temporary folder; effects outside of that folder are real",
      )
      .option("--files <folder>", "with --live, each run works in a copy of this folder"),
  examples: [
    "uncaged-workflow chaos review",
    "uncaged-workflow chaos review --fixture fixtures/review.json --seed 7",
    "uncaged-workflow chaos inventory --live --prompt INVENTORY.md",
    "uncaged-workflow chaos review --json | jq .diverged",
  ],
  async run(session, options: Options, name: string) {
    const { thread, fixture: file, run: only, runs, live = false } = options;
    if (thread !== undefined && file !== undefined)
      throw wrongUse("--thread and --fixture are both given", "name one recording");
    if (only !== undefined && runs !== undefined)
      throw wrongUse("--run and --runs are both given", "leave out --runs to make one run");
    const { seed = Math.floor(Math.random() * (mostSeeds + 1)) } = options;
    const { host } = session;
    const version = await withName(session, name, () => host.resolve(name));
    const { fixture, files, again, ...input } = await inputsOf(session, version, options);
    const spinner = session.spinner(() => ["running under faults"]);
    const signal = session.termination();
    const result = await runChaos({
      ...{ workflow: version.name, code: await host.source(version.hash) },
      ...{ sources: await sourcesOf(session, version.hash), fixture, ...input },
      ...{ isLive: live, files, seed, runs: runs ?? null, only: only ?? null, signal },
    })
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
        return null;
      })
      .finally(() => spinner.stop());
    if (result === null) return exitCodes.interrupted;
    const { end, diverged, repeated, faults, worst } = result;
    if (diverged.length === 0 && end?.reason === "failed") throw failsAlone(end.summary, live);
    const words = ["uncaged-workflow", "chaos", `${version.name}@${version.hash}`, ...again];
    words.push(
      "--seed",
      String(seed),
      ...(worst === 0 ? ["--runs", "1"] : ["--run", String(worst)]),
    );
    const replay = words.map(shellWord).join(" ");
    const report: ChaosReport = { seed, runs: result.runs, faults, repeated, diverged, replay };
    session.show(report, () => reportText(report));
    return diverged.length > 0 ? exitCodes.failed : exitCodes.done;
  },
});

/** Returns the sources of a version; its bundle if it has no sources. */
async function sourcesOf({ host }: Session, hash: string) {
  const { sources } = await host.version(hash);
  if (sources.length === 0) return [{ file: `${hash}.esm.js`, text: await host.source(hash) }];
  return await Promise.all(
    sources.map(async (file) => ({ file, text: await host.source(hash, file) })),
  );
}
