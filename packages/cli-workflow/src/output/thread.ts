import type { FailureRecord, Step, ThreadJson } from "@uncaged/workflow/host";
import { addTally, type Ledger, noTally, type Tally } from "@uncaged/workflow-agents/ledger";
import { ledgerLine, ledgerText, spentText } from "./ledger.ts";
import { type Look, statusStyle, statusText } from "./style.ts";
import { pairs } from "./table.ts";
import { count, oneLine, plain, truncate, versionText } from "./text.ts";
import { ago, elapsed, isoTime } from "./time.ts";

/** A thread with why it failed, if it did, and what it spent. */
export type WholeThread = { view: ThreadJson; failure: FailureRecord | null; ledger: Ledger };

/** How a thread is shown: on a terminal its texts are cut, unless it is to be shown in full. */
export type ThreadLook = Look & { full: boolean; now: number };

const shownLines = 4;
const indent = "     ";

/** A thread for people: what it is, how it ended, its steps by number, and what it spent. */
export function threadText({ view, failure, ledger }: WholeThread, look: ThreadLook): string {
  const { paint, terminal } = look;
  const { status, result } = view;
  const lost = spentText(ledger.lost);
  const entries: [string, string][] = [
    ["thread", paint("bold", view.threadId)],
    ["workflow", versionText(view.workflow, view.hash, terminal)],
    ["status", paint(statusStyle(status), statusText(status, terminal))],
    ...promptEntry(view, look),
    ["rounds", `${view.steps.length} of ${view.maxRounds}`],
    ["started", `${isoTime(view.createdAt)} (${ago(view.createdAt, look.now)})`],
  ];
  if (view.forkFrom) {
    const { threadId, steps } = view.forkFrom;
    entries.push(["forked", `from ${threadId}, with ${count(steps, "step")}`]);
  }
  if (view.pid !== null) entries.push(["worker", `pid ${view.pid}`]);
  const spent = ledgerLine(ledger);
  if (spent) entries.push(["spent", spent]);
  if (lost) entries.push(["lost", `${lost}, by what failed or broke off`]);
  if (result) entries.push(["result", resultText(result, look)]);
  if (failure) entries.push(...failureEntries(failure, look));
  const steps = view.steps.length > 0 ? `\n${stepsText({ view, ledger }, look)}` : "";
  const table = ledgerText(ledger, look);
  return `${pairs(entries, paint)}${steps}${table && `\n${table}`}`;
}

/** What to do about a failure, and an agent's reply that could not be parsed. */
function failureEntries({ code, hint, kept }: FailureRecord, look: ThreadLook): [string, string][] {
  const entries: [string, string][] = [];
  if (code) entries.push(["error", oneLine(code)]);
  if (hint) entries.push(["hint", plain(hint)]);
  if (typeof kept?.raw === "string") entries.push(["said", shortened(kept.raw, look, 10)]);
  return entries;
}

function promptEntry({ prompt }: ThreadJson, look: ThreadLook): [string, string][] {
  return prompt === "" ? [] : [["prompt", shortened(prompt, look, 10)]];
}

/** A thread's steps, each under its number, role, time since the one before, and what it spent. */
export function stepsText(
  { view, ledger }: Omit<WholeThread, "failure">,
  look: ThreadLook,
): string {
  const kept = view.forkFrom?.steps ?? 0;
  const spent = new Map<number, Tally>();
  for (const { number, kind, ...tally } of ledger.steps) {
    if (kind === "own") spent.set(number, addTally(spent.get(number) ?? noTally, tally));
  }
  let before = view.createdAt;
  const texts = view.steps.map((step, index) => {
    if (index < kept) return stepText(step, index + 1, "kept", look);
    const facts = [
      elapsed(ownDuration(step) ?? step.timestamp - before),
      spentText(spent.get(index + 1) ?? noTally),
    ];
    const text = stepText(step, index + 1, facts.filter(Boolean).join("  "), look);
    before = step.timestamp;
    return text;
  });
  return texts.join("");
}

function stepText(step: Step, number: number, facts: string, look: ThreadLook): string {
  const { paint } = look;
  const head = `${String(number).padStart(3)}  ${paint("cyan", oneLine(step.role))}  ${paint("dim", facts)}`;
  const body = shortened(contentText(step), look, indent.length);
  const content = body === "" ? "" : `${hanging(body)}\n`;
  const meta = look.full ? `${paint("dim", hanging(JSON.stringify(step.meta, null, 2)))}\n` : "";
  return `${head}\n${content}${meta}`;
}

function resultText(result: NonNullable<ThreadJson["result"]>, look: ThreadLook): string {
  const code = `return code ${result.returnCode}`;
  return result.summary ? `${shortened(result.summary, look, 10)} (${code})` : code;
}

function shortened(text: string, look: ThreadLook, before: number): string {
  const whole = plain(text).replace(/\n+$/, "");
  if (look.full || !look.terminal) return whole;
  const lines = whole.split("\n");
  const shown = lines.slice(0, shownLines).map((line) => truncate(line, look.columns - before));
  const hidden = lines.length - shown.length;
  return hidden > 0
    ? `${shown.join("\n")}\n… ${count(hidden, "more line")} (--full)`
    : shown.join("\n");
}

function hanging(text: string): string {
  return text.replace(/^(?=.)/gm, indent);
}

/**
 * A step's content as it is shown beside its role and its duration: that of a step workflow begins with the
 * one and ends with the other. An answer that nobody gave has no content.
 */
export function contentText(step: Pick<Step, "role" | "content" | "meta">): string {
  const { role, content } = step;
  if (role === "__input__" && step.meta.timedOut === true) return "nobody answered in time";
  const text = content.startsWith(`${role}: `) ? content.slice(role.length + 2) : content;
  return ownDuration(step) === null ? text : text.replace(/(, |^)\d+(\.\d+)? s$/, "");
}

/** How long a step took by its own meta, in milliseconds; null when it has none. */
export function ownDuration({ meta }: Pick<Step, "meta">): number | null {
  const { durationMs } = meta;
  return typeof durationMs === "number" && durationMs >= 0 ? durationMs : null;
}
