import type { Host, ThreadRef } from "@uncaged/workflow/host";
import { ledgerOf, ledgerRecords } from "@uncaged/workflow-agents/ledger";
import type { WholeThread } from "../output/thread.ts";

/** Reads a thread with its attempts and what it spent. */
export async function readWhole(host: Host, ref: ThreadRef): Promise<WholeThread> {
  const view = await host.read(ref);
  const error = view.status === "failed" ? view.error : null;
  const lines = await Array.fromAsync(host.log(ref, { only: ledgerRecords }));
  const log = { records: lines.map(({ record }) => record), isLive: "pid" in view };
  const saved = view.forkFrom?.steps ?? 0;
  const ledger = ledgerOf(view.steps, saved, error && { meta: { error } }, log);
  return { view, attempts: await host.attempts(ref), ledger };
}
