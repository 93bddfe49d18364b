import {
  type FailureRecord,
  readFailure,
  readThread,
  type Root,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { type Ledger, ledgerOf } from "@uncaged/workflow-agents/ledger";

/** A thread with why it failed, if it did, and what it spent. */
export type WholeThread = { view: ThreadView; failure: FailureRecord | null; ledger: Ledger };

/** Reads a thread and what it spent: its own steps, and the one that failed. */
export async function readWhole(root: Root, ref: ThreadRef): Promise<WholeThread> {
  const view = await readThread(root, ref);
  const failure = view.status === "failed" ? readFailure(root, ref) : null;
  const ledger = ledgerOf(view.steps, view.forkFrom?.steps ?? 0, endOf(failure));
  return { view, failure, ledger };
}

/** What a failed step had spent, as the end record keeps it; null when it tells of nothing. */
export function lostOf(failure: FailureRecord | null): Ledger["total"] | null {
  const { total, steps } = ledgerOf([], 0, endOf(failure));
  return steps.length > 0 ? total : null;
}

const endOf = (failure: FailureRecord | null) =>
  failure === null ? null : { meta: { error: failure } };
