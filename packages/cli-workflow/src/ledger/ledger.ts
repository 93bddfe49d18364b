import {
  readFailure,
  readInfo,
  readThread,
  type Root,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { ledgerOf, ledgerRecords } from "@uncaged/workflow-agents/ledger";
import type { WholeThread } from "../output/thread.ts";

/** Reads a thread and what it spent: its own steps, the one that failed, and what broke off. */
export async function readWhole(root: Root, ref: ThreadRef): Promise<WholeThread> {
  const view = await readThread(root, ref);
  const failure = view.status === "failed" ? readFailure(root, ref) : null;
  const end = failure && { meta: { error: failure } };
  const records = await Array.fromAsync(readInfo(root, ref, { only: ledgerRecords }));
  const log = { records, isLive: view.pid !== null };
  return { view, failure, ledger: ledgerOf(view.steps, view.forkFrom?.steps ?? 0, end, log) };
}
