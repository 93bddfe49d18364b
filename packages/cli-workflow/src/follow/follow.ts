import {
  follow,
  isMoving,
  type Observed,
  settled,
  type ThreadRef,
  type ThreadStatus,
  WorkflowError,
} from "@uncaged/workflow/host";
import { readWhole } from "../output/thread.ts";
import { ledgerLine } from "../output/ledger.ts";
import {
  hintOf,
  interruptedExitCode,
  outcomeExitCode,
  outcomeText,
  resultOf,
  whatNext,
} from "../output/outcome.ts";
import { startSpinner } from "../output/spinner.ts";
import type { Session } from "../session/session.ts";
import { View } from "./view.ts";

/** A thread that a command has started or continued. */
export type Started = { threadId: string; workflow: string; hash: string };

/**
 * Shows a thread until it has ended or waits for an answer, and returns the exit code. Ctrl-C leaves
 * the view and not the thread.
 */
export async function followThread(session: Session, ref: ThreadRef): Promise<number> {
  const signal = session.interruption();
  const items = unlessRemoved(ref, follow(session.host, ref, { signal }));
  const state = session.json
    ? await streamItems(session, items)
    : await drawItems(session, ref, items);
  return state ? outcomeExitCode(state) : leave(session, ref);
}

/** Waits silently until a thread has ended or waits for an answer, and returns the exit code. */
export async function waitForThread(
  session: Session,
  ref: ThreadRef,
  started: Started,
): Promise<number> {
  const signal = session.interruption();
  const view = await settled(session.host, ref, { signal });
  const { status } = view;
  if (signal.aborted && isMoving(status)) return leave(session, ref);
  if (session.json) session.show({ ...started, status, result: resultOf(view) }, () => "");
  else {
    const { notes } = session.output;
    session.note(outcomeText(view, session.notePaint, notes.terminal).trimEnd());
    noteRemedies(session, ref, view);
  }
  return outcomeExitCode(view);
}

/** Reports that the thread continues without us. */
function leave(session: Session, { threadId }: ThreadRef): number {
  const { notes } = session.output;
  notes.write(`\n${threadId} continues; watch it again: uncaged-workflow follow ${threadId}\n`);
  return interruptedExitCode;
}

async function* unlessRemoved(
  { threadId }: ThreadRef,
  items: AsyncIterable<Observed>,
): AsyncGenerator<Observed> {
  for await (const item of items) {
    if (item.kind === "removed") {
      const message = `the thread ${threadId} was removed while it was followed`;
      throw new WorkflowError({ code: "THREAD_NOT_FOUND", kind: "missing", message });
    }
    yield item;
  }
}

/** The state that ends the view, if an item does. */
function endOf(item: Observed): ThreadStatus | null {
  if (item.kind === "end") return item.state;
  return item.kind === "status" && !isMoving(item.state.status) ? item.state : null;
}

async function streamItems(
  session: Session,
  items: AsyncIterable<Observed>,
): Promise<ThreadStatus | null> {
  for await (const item of items) {
    const end = endOf(item);
    if (end) {
      session.stream({ kind: "end", status: end.status, result: resultOf(end) });
      return end;
    }
    if (item.kind === "event") session.stream({ kind: "event", event: item.event });
    if (item.kind === "step")
      session.stream({ kind: "step", number: item.number, step: item.step });
    if (item.kind === "status") session.stream({ kind: "status", status: item.state.status });
  }
  return null;
}

async function drawItems(
  session: Session,
  ref: ThreadRef,
  items: AsyncIterable<Observed>,
): Promise<ThreadStatus | null> {
  const { notes } = session.output;
  const view = new View(session.look);
  const spinner = startSpinner(notes, session.env.TERM === "dumb", () =>
    view.midLine ? [] : view.live(Date.now()),
  );
  try {
    for await (const item of items) {
      const text = view.show(item);
      if (text) {
        spinner.clear();
        session.write(text);
      }
      // Where there is no spinner to show it.
      if (item.kind === "status" && item.state.status === "paused" && !notes.terminal) {
        session.note(`paused; continue it: uncaged-workflow resume ${ref.threadId}`);
      }
      const end = endOf(item);
      if (end) {
        spinner.stop();
        await endView(session, ref, end);
        return end;
      }
    }
  } finally {
    spinner.stop();
  }
  return null;
}

async function endView(session: Session, ref: ThreadRef, state: ThreadStatus): Promise<void> {
  const { paint, terminal } = session.look;
  session.write(outcomeText(state, paint, terminal));
  // A thread that was removed since is reported without what it spent.
  const whole = await readWhole(session.host, ref).catch(() => null);
  const spent = whole && ledgerLine(whole.ledger);
  if (spent) session.note(spent);
  noteRemedies(session, ref, state);
}

function noteRemedies(session: Session, { threadId }: ThreadRef, state: ThreadStatus): void {
  const lines = [hintOf(state), whatNext(threadId, state.status)];
  for (const line of lines) if (line !== null) session.note(line);
}
