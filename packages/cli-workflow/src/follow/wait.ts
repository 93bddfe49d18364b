import { readFailure, type ThreadRef, type ThreadView, waitThread } from "@uncaged/workflow/host";
import type { Session } from "../program/session.ts";
import { leave } from "./follow.ts";
import {
  hintOf,
  type Outcome,
  outcomeExitCode,
  outcomeText,
  questionOf,
  whatNext,
} from "./outcome.ts";

/** What `fork --wait --json` and `run --wait --json` add to what was started. */
type Started = { threadId: string; workflow: string; hash: string };

/** Waits silently until a thread has ended or waits for somebody, and returns the exit code. */
export async function waitFor(session: Session, ref: ThreadRef, started: Started): Promise<number> {
  const signal = session.interruption();
  const view = await waitOrNull(session, ref, signal);
  if (!view) return leave(session, ref);
  const { status, result } = view;
  const question = status === "waiting" ? questionOf(view.steps.at(-1)) : null;
  const outcome = { threadId: ref.threadId, status, result, question };
  if (session.json) session.show({ ...started, status, result }, () => "");
  else tell(session, ref, outcome);
  return outcomeExitCode(outcome);
}

function tell(session: Session, ref: ThreadRef, outcome: Outcome): void {
  const { notes } = session.output;
  session.note(outcomeText(outcome, session.notePaint, notes.terminal).trimEnd());
  const failed = outcome.status === "failed";
  const hint = hintOf(failed ? readFailure(session.root, ref) : null);
  if (hint) session.note(hint);
  const next = whatNext(outcome);
  if (next) session.note(next);
}

async function waitOrNull(
  session: Session,
  ref: ThreadRef,
  signal: AbortSignal,
): Promise<ThreadView | null> {
  const view = await waitThread(session.root, ref, { signal });
  const goesOn = view.status === "running" || view.status === "paused";
  return signal.aborted && goesOn ? null : view;
}
