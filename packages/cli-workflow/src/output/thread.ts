import {
  answererIn,
  answererText,
  type Attempt,
  nestedAttempts,
  sleepsUntil,
} from "@uncaged/workflow/records";
import { INPUT } from "@uncaged/workflow";
import type {
  FailureRecord,
  Host,
  Step,
  ThreadRef,
  ThreadResult,
  ThreadView,
} from "@uncaged/workflow/host";
import { goesOn } from "@uncaged/workflow/internal";
import { type Ledger, ledgerOf } from "@uncaged/workflow-agents/ledger";
import {
  attemptSpent,
  attemptText,
  durationText,
  failedTryText,
  shortened,
  warningLine,
} from "./attempt.ts";
import { ledgerLine, ledgerText, spentText } from "./ledger.ts";
import { positionLine } from "./error.ts";
import { expiryOf, failureText, questionText, resultOf } from "./outcome.ts";
import { jsonOf } from "./output.ts";
import { type Look, statusStyle, statusText } from "./style.ts";
import { pairs } from "./table.ts";
import {
  ago,
  count,
  hanging,
  isoTime,
  oneLine,
  plain,
  stoppedText,
  versionText,
  elapsed,
} from "./text.ts";

export type WholeThread = { view: ThreadView; attempts: readonly Attempt[]; ledger: Ledger };

export async function readWhole(host: Host, ref: ThreadRef): Promise<WholeThread> {
  const view = await host.read(ref);
  const attempts = await host.attempts(ref);
  return { view, attempts, ledger: ledgerOf(attempts) };
}

/** Presentation of a thread. On a terminal its texts are truncated, unless `full` is set. */
export type ThreadLook = Look & { full: boolean; now: number };

const indent = 5;
const labelWidth = 10;

/** Returns a thread for people: its properties, its end, its steps by number, and its usage. */
export function threadText(whole: WholeThread, look: ThreadLook): string {
  const { view, ledger } = whole;
  const { paint, terminal } = look;
  const { status, prompt, forkFrom } = view;
  const result = resultOf(view);
  const lost = spentText(ledger.lost);
  const isStopped = result?.reason === "maxRounds";
  const stopped = isStopped ? `: ${stoppedText(view.steps.length)}` : waitText(view);
  const entries: [string, string][] = [
    ["thread", paint("bold", view.threadId)],
    ["workflow", versionText(view.workflow, view.hash, terminal)],
    ["status", `${paint(statusStyle(status), statusText(status, terminal))}${stopped}`],
    ["prompt", prompt && shortened(prompt, look, labelWidth)],
    ["params", paramsText(view, look)],
    ["rounds", `${view.steps.length} of ${view.maxRounds}`],
    ["started", `${isoTime(view.createdAt)} (${ago(view.createdAt, look.now)})`],
    ["time", timesText(view)],
    ["forked", forkFrom ? `from ${forkFrom.threadId}, with ${count(forkFrom.steps, "step")}` : ""],
    ["worker", "pid" in view && view.pid ? `pid ${view.pid}` : ""],
    ["attempts", uncommittedText(whole.attempts)],
    ["spent", ledgerLine(ledger)],
    ["lost", lost && `${lost}, in failed or interrupted attempts`],
    ["result", result ? resultText(result, look) : ""],
    ...(view.status === "failed" && view.error ? failureEntries(view.error, look) : []),
  ];
  const parts = [
    pairs(
      entries.filter(([, text]) => text !== ""),
      paint,
    ),
    failureText(view, look),
    stepsText(whole, look),
    ledgerText(ledger, look),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function paramsText({ params }: ThreadView, look: ThreadLook): string {
  if (params === undefined) return "";
  return shortened(look.full ? jsonOf(params, 2) : JSON.stringify(params), look, labelWidth);
}

function waitText(view: ThreadView): string {
  if (view.status !== "waiting") return "";
  if (goesOn(view)) return `: ${questionText(view.question)}`;
  const until = expiryOf(view.question);
  return until === null ? "" : `: for an answer until ${isoTime(until)}`;
}

const timesText = ({ workedMs, waitedMs }: ThreadView): string =>
  `worked ${elapsed(workedMs)}${waitedMs > 0 ? `, waited ${elapsed(waitedMs)}` : ""}`;

function uncommittedText(attempts: readonly Attempt[]): string {
  const parts = (["failed", "lost"] as const).flatMap((status) => {
    const number = attempts.filter((each) => each.status === status && each.step === null).length;
    return number === 0 ? [] : [`${number} ${status}`];
  });
  return parts.length === 0 ? "" : `${parts.join(", ")}, without a step (--attempts)`;
}

function failureEntries(
  { role, step, code, hint, kept }: FailureRecord,
  look: ThreadLook,
): [string, string][] {
  return [
    ["failed", oneLine(role === undefined ? `at step ${step}` : `${role}, at step ${step}`)],
    ["error", oneLine(code ?? "")],
    ["hint", plain(hint ?? "")],
    ["reply", typeof kept?.raw === "string" ? shortened(kept.raw, look, labelWidth) : ""],
  ];
}

export function stepsText({ view, attempts }: Omit<WholeThread, "ledger">, look: ThreadLook) {
  const byStep = new Map(attempts.map((attempt) => [attempt.step, attempt]));
  return view.steps
    .map((step, index) => stepText(step, index + 1, byStep.get(index + 1), look))
    .join("");
}

function stepText(
  step: Step,
  number: number,
  attempt: Attempt | undefined,
  look: ThreadLook,
): string {
  const { paint, full } = look;
  const facts = attempt?.saved
    ? ["kept"]
    : attempt && [durationText(attempt), attemptSpent(attempt)];
  const failed =
    attempt?.status === "failed" ? `  ${paint("red", failedTryText(step) ?? "failed")}` : "";
  const by = step.role === INPUT ? answererIn(step.meta) : null;
  const answered = by && `by ${oneLine(answererText(by))}`;
  const shown = paint("dim", [...(facts ?? []), answered].filter(Boolean).join("  "));
  const head = `${String(number).padStart(3)}  ${paint("cyan", oneLine(step.role))}${failed}  ${shown}`;
  const content = shortened(contentText(step), look, indent);
  const meta = full ? paint("dim", hanging(jsonOf(step.meta, 2), indent)) : "";
  const warnings = attempt?.warnings.map((one) => hanging(warningLine(one, paint), indent)) ?? [];
  const at = (attempt?.error && positionLine(attempt.error)) ?? "";
  const lines = [
    head.trimEnd(),
    content && hanging(content, indent),
    at && hanging(at, indent),
    ...warnings,
    meta,
  ];
  return lines
    .filter((line) => line !== "")
    .map((line) => `${line}\n`)
    .join("");
}

/** Returns the attempts, each below the attempt that called it. */
export const attemptsText = ({ attempts }: WholeThread, look: ThreadLook): string =>
  nestedAttempts(attempts, (attempt) => attempt)
    .map(({ one, depth }) => {
      const within = Math.min(depth, deepest) * indent;
      return hanging(attemptText(one, { ...look, columns: look.columns - within }), within);
    })
    .join("");

const deepest = 6;

function resultText({ returnCode, summary, value }: ThreadResult, look: ThreadLook): string {
  const code = `return code ${returnCode}`;
  const text = look.full && value !== undefined ? jsonOf(value, 2) : summary;
  return text ? `${shortened(text, look, labelWidth)} (${code})` : code;
}

/**
 * Returns a step's content without the role and the duration, which the view shows separately. In a step workflow, the
 * content begins and ends with them. A sleep without a reason, the end of a sleep, and a missing answer have no
 * content.
 */
export function contentText(step: Step): string {
  const { role, content, meta } = step;
  if (role === "__input__" && meta.timedOut === true)
    return meta.sleep === true ? "slept" : "no answer in time";
  if (sleepsUntil(step) !== null) return questionText(step);
  const text = content.startsWith(`${role}: `) ? content.slice(role.length + 2) : content;
  return typeof meta.durationMs === "number" ? text.replace(/(, |^)\d+(\.\d+)? s$/, "") : text;
}
