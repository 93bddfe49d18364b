import * as host from "@uncaged/workflow/host";
import { readWhole } from "../ledger/ledger.ts";
import { ledgerLine } from "../output/ledger.ts";
import {
  hintOf,
  interruptedExitCode,
  type Outcome,
  outcomeExitCode,
  outcomeText,
  questionOf,
  whatNext,
} from "../output/outcome.ts";
import { startSpinner } from "../output/spinner.ts";
import type { Session } from "../session/session.ts";
import { beginView, showItem, waitLine } from "./view.ts";

/** A thread that a command has started or continued. */
export type Started = { threadId: string; workflow: string; hash: string };

/**
 * Shows a thread until it has ended or waits for an answer, and returns the exit code. Ctrl-C leaves
 * the view and not the thread.
 */
export async function followThread(session: Session, ref: host.ThreadRef): Promise<number> {
  const signal = session.interruption();
  const items = host.followThread(session.root, ref, { signal, events: true });
  const outcome = session.json
    ? await streamItems(session, ref, items)
    : await drawItems(session, ref, items);
  return outcome ? outcomeExitCode(outcome) : leave(session, ref);
}

/** Waits silently until a thread has ended or waits for an answer, and returns the exit code. */
export async function waitForThread(
  session: Session,
  ref: host.ThreadRef,
  started: Started,
): Promise<number> {
  const signal = session.interruption();
  const view = await host.waitThread(session.root, ref, { signal });
  const { status, result } = view;
  if (signal.aborted && (status === "running" || status === "paused")) return leave(session, ref);
  const question = status === "waiting" ? questionOf(view.steps.at(-1)) : null;
  const outcome = { threadId: ref.threadId, status, result, question };
  if (session.json) session.show({ ...started, status, result }, () => "");
  else {
    const { notes } = session.output;
    session.note(outcomeText(outcome, session.notePaint, notes.terminal).trimEnd());
    noteRemedies(
      session,
      outcome,
      status === "failed" ? host.readFailure(session.root, ref) : null,
    );
  }
  return outcomeExitCode(outcome);
}

/** Reports that the thread goes on without us. */
function leave(session: Session, { threadId }: host.ThreadRef): number {
  const { notes } = session.output;
  notes.write(`\n${threadId} continues; watch it again: uncaged-workflow follow ${threadId}\n`);
  return interruptedExitCode;
}

async function streamItems(
  session: Session,
  { threadId }: host.ThreadRef,
  items: AsyncIterable<host.FollowItem>,
): Promise<Outcome | null> {
  let outcome: Outcome | null = null;
  for await (const item of items) {
    session.stream(item);
    if (item.kind === "end") outcome = { threadId, status: item.status, result: item.result };
  }
  return outcome;
}

async function drawItems(
  session: Session,
  ref: host.ThreadRef,
  items: AsyncIterable<host.FollowItem>,
): Promise<Outcome | null> {
  const { notes } = session.output;
  const { threadId } = ref;
  const { createdAt, forkFrom } = await host.readThread(session.root, ref);
  let view = beginView(createdAt, forkFrom?.steps ?? 0);
  const spinner = startSpinner(notes, session.env.TERM === "dumb", () =>
    view.inside.midLine ? null : waitLine(view, Date.now()),
  );
  try {
    for await (const item of items) {
      const shown = showItem(view, item, session.look);
      view = shown.view;
      if (shown.text) {
        spinner.clear();
        session.write(shown.text);
      }
      // Where there is no spinner to show it.
      if (item.kind === "status" && item.status === "paused" && !notes.terminal) {
        session.note(`paused; continue it: uncaged-workflow resume ${threadId}`);
      }
      if (item.kind === "end") {
        spinner.stop();
        const { status, result } = item;
        const outcome = { threadId, status, result, question: view.question };
        await endView(session, ref, outcome);
        return outcome;
      }
    }
  } finally {
    spinner.stop();
  }
  return null;
}

async function endView(session: Session, ref: host.ThreadRef, outcome: Outcome): Promise<void> {
  const { paint, terminal } = session.look;
  session.write(outcomeText(outcome, paint, terminal));
  // A thread that was removed since is reported without what it spent.
  const whole = await readWhole(session.root, ref).catch(() => null);
  const spent = whole && ledgerLine(whole.ledger);
  if (spent) session.note(spent);
  noteRemedies(session, outcome, whole?.failure ?? null);
}

function noteRemedies(
  session: Session,
  outcome: Outcome,
  failure: host.FailureRecord | null,
): void {
  for (const line of [hintOf(failure), whatNext(outcome)]) if (line !== null) session.note(line);
}
