import { type AttemptError, knownEvent, readEvent } from "@uncaged/workflow/records";
import type { Host, InfoRecord, ThreadRef } from "@uncaged/workflow/host";
import { timeOf, wholeNumber } from "../arguments/options.ts";
import { attemptName, valueText } from "../output/attempt.ts";
import { thrownText } from "../output/error.ts";
import { exitCodes } from "../output/exit-code.ts";
import { jsonOf } from "../output/output.ts";
import { hanging, isoTime, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = { since?: string; tail?: number; follow?: boolean };

export default defineCommand({
  declare: (command) =>
    command
      .argument("<id>", "the thread, or @last")
      .option("--since <time>", "only newer lines: 30s, 5m, 2h, 1d, or an ISO 8601 time")
      .option("--tail <n>", "only the last n lines", wholeNumber("--tail", 0, 1_000_000_000))
      .option("-f, --follow", "follow new lines until the thread has ended"),
  examples: ["uncaged-workflow logs @last --since 5m", "uncaged-workflow logs @last -f"],
  async run(session, { tail, follow, ...options }: Options, id: string) {
    const { host } = session;
    const since =
      options.since === undefined ? undefined : timeOf("--since", options.since, Date.now());
    const ref = await host.find(id);
    const signal = follow ? session.interruption() : undefined;
    const names = session.json ? new Map<string, string>() : await attemptNames(host, ref);
    for await (const { record } of host.log(ref, { since, tail, follow, signal })) {
      if (session.json) session.stream(record);
      else session.write(`${lineOf(record, names, session)}\n`);
    }
    return signal?.aborted ? exitCodes.interrupted : exitCodes.done;
  },
});

// An id alone is not readable, so a line also shows the role of its attempt.
const attemptNames = async (host: Host, ref: ThreadRef): Promise<Map<string, string>> =>
  new Map((await host.attempts(ref)).map((attempt) => [attempt.attempt, attemptName(attempt)]));

function lineOf(record: InfoRecord, names: Map<string, string>, { look }: Session): string {
  const { paint } = look;
  const { timestamp, tag, content, type, payload, attempt } = record;
  if (attempt !== undefined && type === "attempt_start" && !names.get(attempt)) {
    const { title, role } = (payload ?? {}) as { role?: unknown; title?: unknown };
    names.set(attempt, oneLine(valueText(title ?? role ?? "")));
  }
  const name = attempt === undefined ? "" : `${names.get(attempt) ?? ""} ${attempt.slice(-4)}  `;
  const thrown = errorIn(record);
  const failure = thrown ? `\n${hanging(thrownText(thrown, { ...look, full: true }), 4)}` : "";
  const shown = thrown ? { ...(payload as object), error: undefined } : (payload ?? {});
  const more = type === undefined ? "" : ` ${paint("dim", oneLine(jsonOf(shown)))}`;
  const head = paint("dim", `${isoTime(timestamp)} ${tag}`);
  return `${head}  ${paint("cyan", name.trimStart())}${oneLine(content)}${more}${failure.trimEnd()}`;
}

/** Returns the error of a failed attempt; null if its source position is unknown. */
function errorIn(record: InfoRecord): AttemptError | null {
  const event = readEvent(record);
  const known = event && knownEvent(event);
  const error = known?.type === "attempt_end" ? known.payload.error : undefined;
  return error?.at ? error : null;
}
