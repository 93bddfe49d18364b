import {
  follow,
  type Observed,
  settled,
  type StartedThread,
  type ThreadRef,
  type ThreadStatus,
  type ThreadView,
} from "@uncaged/workflow/host";
import { goesOn, keepAwake } from "@uncaged/workflow/internal";
import { failedTryText, noteLine } from "../output/attempt.ts";
import { readWhole } from "../output/thread.ts";
import { exitCodes } from "../output/exit-code.ts";
import { ledgerLine } from "../output/ledger.ts";
import {
  failureText,
  hintOf,
  outcomeExitCode,
  outcomeJson,
  outcomeText,
  whatNext,
} from "../output/outcome.ts";
import type { Session } from "../session/session.ts";
import { oneLine } from "../output/text.ts";
import { View } from "./view.ts";
import { threadRemoved } from "../output/errors.ts";

/**
 * Shows a thread until it ends or waits for an answer, and returns the exit code. Ctrl-C ends the view, not the thread.
 */
export async function followThread(session: Session, ref: ThreadRef): Promise<number> {
  const { threadId } = ref;
  const view = new View(session.look);
  const spinner = session.spinner(() => (view.midLine ? [] : view.live(Date.now())));
  const signal = session.interruption();
  const rest = keepAwake(session.host, session.env);
  let steps = 0;
  try {
    for await (const item of follow(session.host, ref, { signal })) {
      if (item.kind === "removed") throw threadRemoved(threadId);
      if (item.kind === "step") steps = item.number;
      const end = endOf(item);
      if (session.json) streamItem(session, item, end, steps);
      else {
        const text = view.show(item);
        if (text !== "") spinner.clear();
        session.write(text);
      }
      if (end) {
        spinner.stop();
        if (!session.json) {
          await showEnd(session, ref, end);
          await noteRemedies(session, ref, end);
        }
        return outcomeExitCode(end);
      }
      // Writes the state because no spinner shows it.
      if (
        item.kind === "status" &&
        item.state.status === "paused" &&
        !session.output.notes.terminal
      ) {
        session.note(`paused; continue it: uncaged-workflow resume ${threadId}`);
      }
    }
  } finally {
    rest();
    spinner.stop();
  }
  return leave(session, ref);
}

/** Returns the end or the resting state of a thread in an item; null for other items. */
export function endOf(item: Observed): ThreadStatus | null {
  if (item.kind === "end") return item.state;
  return item.kind === "status" && !goesOn(item.state) ? item.state : null;
}

/** Writes an item as a line of JSON. */
export function streamItem(
  session: Session,
  item: Observed,
  end: ThreadStatus | null,
  steps: number,
): void {
  if (end) session.stream({ kind: "end", ...outcomeJson(end, steps) });
  else if (item.kind === "event") session.stream({ kind: "event", event: item.event });
  else if (item.kind === "step")
    session.stream({ kind: "step", number: item.number, step: item.step });
  else if (item.kind === "status") session.stream({ kind: "status", status: item.state.status });
}

/**
 * Waits until a thread ends or waits for an answer, and returns the exit code. Prints only failed tries, violations of the
 * descriptor, and the outcome.
 */
export async function waitForThread(
  session: Session,
  ref: ThreadRef,
  started: StartedThread,
): Promise<number> {
  const signal = session.interruption();
  const rest = keepAwake(session.host, session.env);
  const view = await noted(session, ref, signal).finally(rest);
  if (signal.aborted && goesOn(view)) return leave(session, ref);
  if (session.json) session.show({ ...started, ...outcomeJson(view, view.steps.length) }, () => "");
  else {
    const look = session.lookOf(session.output.notes);
    session.note(`${outcomeText(view, look)}${failureText(view, look)}`.trimEnd());
    await noteRemedies(session, ref, view);
  }
  return outcomeExitCode(view);
}

/** Waits for a thread as `settled` does. Meanwhile prints failed tries and steps that violate the descriptor. */
async function noted(session: Session, ref: ThreadRef, signal: AbortSignal): Promise<ThreadView> {
  if (session.json || session.quiet) return await settled(session.host, ref, { signal });
  const begun = Date.now() - performance.now();
  for await (const item of follow(session.host, ref, { signal })) {
    const text = noteOf(item, begun);
    if (text !== null) session.note(text);
  }
  return await session.host.read(ref);
}

function noteOf(item: Observed, begun: number): string | null {
  if (item.kind === "step" && item.step.timestamp >= begun) {
    const tried = failedTryText(item.step);
    return tried && `${oneLine(item.step.role)}: ${tried}: ${oneLine(item.step.content)}`;
  }
  if (item.kind !== "event" || item.event.timestamp < begun) return null;
  const { type } = item.event;
  return type === "step_warning" || type === "llm_retry" ? noteLine(item.event) : null;
}

function leave(session: Session, { threadId }: ThreadRef): number {
  const { notes } = session.output;
  notes.write(`\n${threadId} continues; watch it again: uncaged-workflow follow ${threadId}\n`);
  return exitCodes.interrupted;
}

/** Shows the end of a thread, or its question, and its usage. */
export async function showEnd(
  session: Session,
  ref: ThreadRef,
  state: ThreadStatus,
): Promise<void> {
  session.write(`${outcomeText(state, session.look)}${failureText(state, session.look)}`);
  // A thread that was removed in the meantime is reported without its usage.
  const whole = await readWhole(session.host, ref).catch(() => null);
  const spent = whole && ledgerLine(whole.ledger);
  if (spent) session.note(spent);
}

const startWorker = "no worker drives it; start one: uncaged-workflow worker";

async function noteRemedies(session: Session, ref: ThreadRef, state: ThreadStatus): Promise<void> {
  const hint = hintOf(state);
  if (hint !== null) session.note(hint);
  // If the hint of the error names another command, the usual retry would fail again.
  const isEnough = hint !== null && /uncaged-workflow (retry|fork) /.test(hint);
  if (isEnough) return;
  // A thread that was removed in the meantime has no steps to show.
  const view = await session.host.read(ref).catch(() => state);
  const isAlone = session.hostKind === "database" && state.status === "interrupted";
  const next = isAlone
    ? startWorker
    : whatNext(ref.threadId, view.status === state.status ? view : state);
  if (next !== null) session.note(next);
}
