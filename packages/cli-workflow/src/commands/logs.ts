import { findThread, type InfoRecord, readInfo } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { timeOf, wholeNumber } from "../arguments/options.ts";
import { interruptedExitCode } from "../output/outcome.ts";
import { oneLine } from "../output/text.ts";
import { isoTime } from "../output/time.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = { since?: string; tail?: number; follow?: boolean };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<id>", "the thread, or @last")
    .option("--since <time>", "only what is newer: 30s, 5m, 2h, 1d, or an ISO 8601 time")
    .option("--tail <n>", "only the last n lines", wholeNumber("--tail", 0, 1_000_000_000))
    .option("-f, --follow", "follow new lines until the thread has ended")
    .action(perform(logs));
  examples(command, "uncaged-workflow logs @last --since 5m", "uncaged-workflow logs @last -f");
}

async function logs(session: Session, options: Options, id: string): Promise<number> {
  const { tail } = options;
  const follow = options.follow === true;
  const since =
    options.since === undefined ? undefined : timeOf("--since", options.since, Date.now());
  const ref = await findThread(session.root, id);
  const signal = follow ? session.interruption() : undefined;
  for await (const record of readInfo(session.root, ref, { since, tail, follow, signal })) {
    if (session.json) session.stream(record);
    else session.write(`${lineOf(record, session)}\n`);
  }
  return signal?.aborted ? interruptedExitCode : 0;
}

function lineOf({ timestamp, tag, content, type, payload }: InfoRecord, session: Session): string {
  const { paint } = session;
  const more = type === undefined ? "" : ` ${paint("dim", oneLine(JSON.stringify(payload ?? {})))}`;
  return `${paint("dim", `${isoTime(timestamp)} ${tag}`)}  ${oneLine(content)}${more}`;
}
