import { basename } from "node:path";
import type { EvalCase, EvalChange, VersionSummary } from "@uncaged/workflow-evals";
import { durationMs, hashOf, show } from "@uncaged/workflow/internal";
import { type Command, Option } from "commander";
import { withName } from "../arguments/names.ts";
import { limitOptions, maxRoundsOption, wholeNumber } from "../arguments/options.ts";
import { fileHint, fileMeant, storedFrom } from "../arguments/source.ts";
import { exitCodes } from "../output/exit-code.ts";
import { costText } from "../output/ledger.ts";
import { count, grouped } from "../output/text.ts";
import { evalPlace } from "../session/evals.ts";
import { defineCommand } from "../session/command.ts";
import { badOption, wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Options = {
  score?: string;
  fixtures?: string;
  repeat: number;
  concurrency: number;
  minScore?: number;
  minPass?: number;
  scoreTimeout: number;
  retryFailed?: boolean;
  maxRounds?: number;
  maxCost?: number;
  maxTokens?: number;
};

const mostAtOnce = 256;
const mostScorers = 4;

export default defineCommand({
  declare(command) {
    command
      .argument(
        "<workflows>",
        "one or several versions, separated by commas: review@C9NMV6V,review; or files",
      )
      .argument("<dataset>", "a JSON Lines file with one case per line; - reads it from stdin")
      .option("--score <file>", "the scorer: a module whose default export judges a thread")
      .option("--fixtures <folder>", "answer the roles of each case from <folder>/<id>.json")
      .option("--repeat <n>", "number of runs of each case", wholeNumber("--repeat", 1, 1000), 1)
      .option(
        "--concurrency <n>",
        "the most concurrent threads",
        wholeNumber("--concurrency", 1, mostAtOnce),
        4,
      );
    shares(command)
      .addOption(
        new Option("--score-timeout <time>", "the most time for one score")
          .argParser(scoreTimeout)
          .default(60_000, "1m"),
      )
      .option("--retry-failed", "repeat the cases whose threads failed or exceeded a limit");
    limitOptions(maxRoundsOption(command), "of each thread; default: no limit");
  },
  examples: [
    "uncaged-workflow eval review cases.jsonl --score score.ts",
    "uncaged-workflow eval review@C9NMV6V,review cases.jsonl --score score.ts --min-pass 0.9",
    "uncaged-workflow eval ./workflow.ts cases.jsonl --score score.ts --fixtures fixtures",
  ],
  async run(session, options: Options, workflows: string, dataset: string) {
    const file = options.score;
    if (file === undefined)
      throw wrongUse("eval needs a scorer", "name the scorer's file: --score score.ts");
    const { EvalRecord, runEval } = await import("@uncaged/workflow-evals");
    const { casesOf, checkFixtures } = await import("../eval/dataset.ts");
    const { Scorers } = await import("../eval/scorers.ts");
    const { reportOf, reportText } = await import("../eval/report.ts");
    const { cwd, env, host } = session;
    const cases = await casesOf(dataset, { fixtures: options.fixtures, cwd });
    const versions = await versionsOf(session, workflows);
    checkFixtures(cases, versions);
    const { concurrency, repeat, maxRounds, scoreTimeout: timeoutMs } = options;
    const most = Math.min(concurrency, mostScorers);
    const scorers = await Scorers.open(file, { cwd, env, timeoutMs, most });
    try {
      const { root, cluster } = evalPlace(session);
      const head = await headOf(cases, { dataset, file, scorer: scorers.hash, cluster });
      const record = EvalRecord.open(root, head);
      try {
        const signal = session.interruption();
        const progress = new Progress(session, cases.length * versions.length * repeat);
        const { maxCost, maxTokens } = options;
        const limits = { ...(maxCost && { maxCost }), ...(maxTokens && { maxTokens }) };
        await runEval({
          ...{ host, record, versions, cases, repeat, concurrency, signal },
          retryFailed: options.retryFailed,
          start: { cwd, env, maxRounds, options: limits },
          score: (one, thread) => scorers.score(one, thread),
          onChange: (change) => progress.change(change),
        }).finally(() => progress.stop());
        const ids = new Set(cases.map(({ id }) => id));
        const isMeant = (run: { case: string; n: number }) => ids.has(run.case) && run.n <= repeat;
        const runs = versions.map(({ hash }) => record.runs(hash, isMeant));
        const report = reportOf(record.head, { cases: cases.length, repeat }, runs);
        if (signal.aborted) {
          const done = report.runs.length;
          session.note(
            `interrupted: ${grouped(done)} of ${count(progress.all, "run")} have a result; run it again to continue`,
          );
          return exitCodes.interrupted;
        }
        const missed = missedBy(report.versions, options);
        session.show({ ...report, missed }, () => reportText(report, session.look));
        for (const line of missed) session.note(line);
        session.note(`in the console: /evals/${head.id}`);
        if (missed.length > 0) return exitCodes.belowThreshold;
        const unscored = report.versions.filter(({ outcomes }) => outcomes.scored === 0);
        for (const { hash, workflow } of unscored)
          session.note(`${workflow}@${hash}: no run has a score`);
        return unscored.length > 0 ? exitCodes.failed : exitCodes.done;
      } finally {
        record.close();
      }
    } finally {
      scorers.close();
    }
  },
});

function shares(command: Command): Command {
  const share = (option: string) => (text: string) => {
    const number = /^(0|1|0?\.[0-9]{1,9}|1\.0{1,9}|0\.[0-9]{1,9})$/.test(text) ? Number(text) : -1;
    if (number >= 0) return number;
    throw badOption(option, text, "give a number from 0 to 1");
  };
  return command
    .option(
      "--min-score <n>",
      "exit with 3 when the mean score is below this (0 to 1)",
      share("--min-score"),
    )
    .option(
      "--min-pass <n>",
      "exit with 3 when a smaller share of runs passes (0 to 1)",
      share("--min-pass"),
    );
}

function scoreTimeout(text: string): number {
  const ms = durationMs(text);
  if (ms !== null && ms >= 1 && ms <= 86_400_000) return ms;
  throw badOption("--score-timeout", text, 'give a span of at most a day, such as "30s" or "5m"');
}

/**
 * Returns the named versions without duplicates.
 * @throws WorkflowError the errors of `resolve`, `BAD_OPTION`.
 */
async function versionsOf(session: Session, workflows: string) {
  const versions: { hash: string; workflow: string }[] = [];
  for (const word of workflows.split(",").map((text) => text.trim())) {
    if (word === "")
      throw wrongUse(`${show(workflows)} names no workflow`, "write: review@C9NMV6V,review");
    const file = await fileMeant(session, word);
    const stored = file === null ? null : await storedFrom(session, file);
    const resolved = stored ?? (await named(session, word));
    const version =
      "workflow" in resolved
        ? { hash: resolved.workflow, workflow: resolved.name }
        : { hash: resolved.hash, workflow: resolved.name };
    if (versions.some(({ hash }) => hash === version.hash)) {
      throw wrongUse(
        `${show(word)} is the same version as another one: ${version.hash}`,
        "name each once",
      );
    }
    versions.push(version);
  }
  return versions;
}

const named = (session: Session, word: string) =>
  withName(
    session,
    word,
    () => session.host.resolve(word),
    () => fileHint(session, word),
  );

/**
 * Returns the inputs of an eval. Its id depends on the content of the data set and of the scorer, not on their names.
 */
async function headOf(
  cases: readonly EvalCase[],
  {
    dataset,
    file,
    scorer,
    cluster,
  }: Record<"dataset" | "file" | "scorer", string> & {
    cluster?: string;
  },
) {
  const hash = (text: string) => hashOf(new TextEncoder().encode(text));
  const datasetHash = hash(JSON.stringify(cases));
  return {
    version: 1 as const,
    id: hash([datasetHash, scorer, cluster].filter(Boolean).join(" ")),
    ...(cluster !== undefined && { cluster }),
    createdAt: Date.now(),
    dataset: { file: basename(dataset), hash: datasetHash },
    scorer: { file: basename(file), hash: scorer },
    cases: cases.map(({ fixture, ...one }) => ({
      ...one,
      ...(fixture && { fixture: fixture.threadId }),
    })),
  };
}

/** Returns the missed thresholds. With several versions, the first is the baseline and has no thresholds. */
function missedBy(versions: readonly VersionSummary[], { minScore, minPass }: Options): string[] {
  const judged = versions.length > 1 ? versions.slice(1) : versions;
  return judged.flatMap(({ workflow, hash, score, passRate }) => {
    const of = (what: string, is: number | null, least: number | undefined) =>
      least === undefined || (is ?? 0) >= least
        ? []
        : [`${workflow}@${hash}: the ${what} is ${String(is ?? 0)}, below ${least}`];
    return [...of("score", score, minScore), ...of("pass rate", passRate, minPass)];
  });
}

/** Progress of an eval: a live line on a terminal, otherwise a line after each tenth of the runs. */
class Progress {
  readonly all: number;
  readonly #session: Session;
  readonly #spinner: { stop(): void };
  #started = 0;
  #done = 0;
  #cost = 0;
  #tenths = 0;

  constructor(session: Session, all: number) {
    this.#session = session;
    this.all = all;
    this.#spinner = session.spinner(() => [this.#line()]);
  }

  change(change: EvalChange): void {
    if (change.kind !== "done") this.#started += 1;
    if (change.kind === "started") return;
    this.#done += 1;
    // A recorded result of an earlier call adds no cost.
    if (change.kind !== "done") return;
    this.#cost += change.run.cost;
    const tenths = Math.floor((10 * this.#done) / this.all);
    if (tenths === this.#tenths || this.#session.output.notes.terminal) return;
    this.#tenths = tenths;
    this.#session.note(this.#line());
  }

  stop(): void {
    this.#spinner.stop();
  }

  #line(): string {
    const atWork = this.#started - this.#done;
    return `${grouped(this.#done)} of ${count(this.all, "run")} done, ${grouped(atWork)} at work, ${costText(this.#cost)}`;
  }
}
