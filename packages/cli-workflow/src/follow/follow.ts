import { type FollowItem, followThread, readThread, type ThreadRef } from "@uncaged/workflow/host";
import { readWhole } from "../ledger/ledger.ts";
import type { Session } from "../program/session.ts";
import {
  hintOf,
  interruptedExitCode,
  type Outcome,
  outcomeExitCode,
  outcomeText,
  whatNext,
} from "./outcome.ts";
import { startSpinner } from "./spinner.ts";
import { ledgerLine } from "../output/ledger.ts";
import { beginView, showItem, type View, waitLine } from "./view.ts";

/**
 * Shows a thread until it has ended or waits for somebody, and returns the exit code. Ctrl-C leaves
 * the view and not the thread.
 */
export async function followLive(session: Session, ref: ThreadRef): Promise<number> {
  const signal = session.interruption();
  const items = followThread(session.root, ref, { signal, events: true });
  const outcome = session.json
    ? await streamItems(session, ref, items)
    : await drawItems(session, ref, items);
  if (!outcome) return leave(session, ref);
  return outcomeExitCode(outcome);
}

/** Tells that the thread goes on without us. */
export function leave(session: Session, { threadId }: ThreadRef): number {
  const { notes } = session.output;
  notes.write(`\n${threadId} goes on; see it again: uncaged-workflow follow ${threadId}\n`);
  return interruptedExitCode;
}

async function streamItems(
  session: Session,
  { threadId }: ThreadRef,
  items: AsyncIterable<FollowItem>,
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
  ref: ThreadRef,
  items: AsyncIterable<FollowItem>,
): Promise<Outcome | null> {
  const { results, notes } = session.output;
  const { paint } = session;
  const look = { paint, terminal: results.terminal, columns: results.columns };
  const { createdAt, forkFrom } = await readThread(session.root, ref);
  let view = beginView(createdAt, forkFrom?.steps ?? 0);
  const spinner = startSpinner(notes, session.env.TERM === "dumb", () =>
    view.inside.midLine ? null : waitLine(view, Date.now()),
  );
  try {
    for await (const item of items) {
      const shown = showItem(view, item, look);
      view = shown.view;
      if (shown.text) {
        spinner.clear();
        session.write(shown.text);
      }
      if (isPaused(item) && !notes.terminal) {
        session.note(`paused; let it go on: uncaged-workflow resume ${ref.threadId}`);
      }
      if (item.kind === "end") {
        spinner.stop();
        return await endView(session, ref, view, item);
      }
    }
  } finally {
    spinner.stop();
  }
  return null;
}

// Where there is no spinner to say so.
const isPaused = (item: FollowItem): boolean => item.kind === "status" && item.status === "paused";

type EndItem = Extract<FollowItem, { kind: "end" }>;

async function endView(
  session: Session,
  ref: ThreadRef,
  { question }: View,
  { status, result }: EndItem,
): Promise<Outcome> {
  const outcome = { threadId: ref.threadId, status, result, question };
  session.write(outcomeText(outcome, session.paint, session.output.results.terminal));
  // Removed since, it is told without what it spent.
  const whole = await readWhole(session.root, ref).catch(() => null);
  const spent = whole && ledgerLine(whole.ledger);
  if (spent) session.note(spent);
  const hint = hintOf(whole?.failure ?? null);
  if (hint) session.note(hint);
  const next = whatNext(outcome);
  if (next) session.note(next);
  return outcome;
}
