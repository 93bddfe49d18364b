import {
  type FailureRecord,
  readFailure,
  readInfo,
  readThread,
  type Root,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { type Ledger, ledgerOf, ledgerRecords } from "@uncaged/workflow-agents/ledger";

/** A thread with why it failed, if it did, and what it spent. */
export type WholeThread = { view: ThreadView; failure: FailureRecord | null; ledger: Ledger };

/** Reads a thread and what it spent: its own steps, the one that failed, and what broke off. */
export async function readWhole(root: Root, ref: ThreadRef): Promise<WholeThread> {
  const view = await readThread(root, ref);
  const failure = view.status === "failed" ? readFailure(root, ref) : null;
  const end = failure && { meta: { error: failure } };
  const records = await Array.fromAsync(readInfo(root, ref, { only: ledgerRecords }));
  const log = { records, isLive: view.pid !== null };
  return { view, failure, ledger: ledgerOf(view.steps, view.forkFrom?.steps ?? 0, end, log) };
}
