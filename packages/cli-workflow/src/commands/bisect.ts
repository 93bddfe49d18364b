import type { Host, Status, ThreadView } from "@uncaged/workflow/host";
import { movedError } from "@uncaged/workflow/internal";
import { Option } from "commander";
import { withName } from "../arguments/names.ts";
import { wholeNumber } from "../arguments/options.ts";
import { notOlder, wrongEnd } from "../bisect/errors.ts";
import { byScript, byStatus, type Judge } from "../bisect/judge.ts";
import { firstBad, type Found, type TestResult } from "../bisect/search.ts";
import { Trial } from "../bisect/trial.ts";
import { exitCodes } from "../output/exit-code.ts";
import { count } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Options = {
  good: string;
  bad: string;
  step?: number;
  script?: string;
  expectStatus?: Status;
  live?: boolean;
};

const judged: readonly Status[] = ["completed", "failed", "waiting", "killed"];
const mostSteps = 1_000_000_000;

export default defineCommand({
  declare: (command) =>
    command
      .argument("<thread>", "the thread whose recorded input each version runs, or @last")
      .requiredOption(
        "--good <version>",
        "a version that works: its hash, or the beginning of the hash",
      )
      .requiredOption("--bad <version>", "a later version that does not work")
      .option(
        "--step <n>",
        "keep the first n recorded steps (default: 0, start again)",
        wholeNumber("--step", 0, mostSteps),
      )
      .option(
        "--script <command>",
        "judge the thread of a version: exit 0 for good, 1 to 124 for bad, 125 to skip it",
      )
      .addOption(
        new Option("--expect-status <status>", "a version is good if its thread has this status")
          .choices(judged)
          .conflicts("script"),
      )
      .option("--live", "run the roles instead of answering them from the recording"),
  examples: [
    "uncaged-workflow bisect @last --good C9NMV6V --bad 7QK2D0M --expect-status completed",
    "uncaged-workflow bisect 01KQXKW1 --good C9NMV6V --bad 7QK2D0M --script 'grep -q LGTM'",
  ],
  async run(session, options: Options, id: string) {
    const judge = judgeOf(session, options);
    const { host, env } = session;
    const ref = await host.find(id);
    const view = await host.read(ref);
    if (view.movedTo !== undefined) throw movedError(ref.threadId, view.movedTo);
    const { workflow } = view;
    const range = () => rangeOf(host, workflow, options);
    const versions = await withName(session, workflow, range);
    const signal = session.termination();
    const trial = await Trial.open(view, {
      ...{ host, ref, env, signal, keep: options.step ?? 0, isLive: options.live === true },
    });
    try {
      const test = (one: ThreadView) => judge(one, trial.root, signal);
      return show(session, await search(session, versions, trial, test));
    } finally {
      await trial.close();
    }
  },
});

function judgeOf(session: Session, { script, expectStatus }: Options): Judge {
  if (script !== undefined && script.trim() !== "")
    return byScript(script, session.cwd, session.env);
  if (expectStatus !== undefined) return byStatus(expectStatus);
  throw wrongUse(
    "--script or --expect-status is missing",
    "choose how to judge a version: --expect-status completed",
  );
}

/** Returns the versions from the good version to the bad version, in the order of their registration. */
async function rangeOf(host: Host, workflow: string, { good, bad }: Options): Promise<string[]> {
  const history = (await host.history(workflow)).map(({ hash }) => hash).toReversed();
  const indexOf = async (version: string) => {
    const isNamed = version === workflow || version.startsWith(`${workflow}@`);
    const { hash } = await host.resolve(isNamed ? version : `${workflow}@${version}`);
    return history.indexOf(hash);
  };
  const [from, to] = [await indexOf(good), await indexOf(bad)];
  if (from >= to) throw notOlder(good, bad);
  return history.slice(from, to + 1);
}

async function search(
  session: Session,
  versions: readonly string[],
  trial: Trial,
  judge: (view: ThreadView) => ReturnType<Judge>,
): Promise<Found | null> {
  const interrupted = new Error("interrupted");
  const test = async (version: string): Promise<TestResult> => {
    const view = await trial.run(version);
    if (view === null) throw interrupted;
    const result = await judge(view);
    if (result === null) throw interrupted;
    const why = view.status === "failed" ? `  ${view.result.summary.split("\n", 1)[0]}` : "";
    session.note(`${version}  ${result}  ${view.status}${why}`);
    return result;
  };
  const [good = "", bad = ""] = [versions[0], versions.at(-1)];
  try {
    const ends = [
      { version: bad, stated: "bad" },
      { version: good, stated: "good" },
    ] as const;
    const tested: Found["tested"] = [];
    for (const { version, stated } of ends) {
      const result = await test(version);
      tested.push({ version, result });
      if (result !== stated) throw wrongEnd(version, stated, result);
    }
    const found = await firstBad(versions, test);
    return { ...found, tested: [...tested, ...found.tested] };
  } catch (error) {
    if (error === interrupted) return null;
    throw error;
  }
}

function show(session: Session, found: Found | null): number {
  if (found === null) return exitCodes.interrupted;
  const { suspects, tested } = found;
  session.show({ firstBad: found.firstBad, tested }, () =>
    found.firstBad === null
      ? `the first bad version is one of ${suspects.join(", ")}\n`
      : `${found.firstBad} is the first bad version (${count(tested.length, "test")})\n`,
  );
  return found.firstBad === null ? exitCodes.failed : exitCodes.done;
}
