import type { Host, ThreadRef } from "@uncaged/workflow/host";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import type { WholeThread } from "../output/thread.ts";

/** Reads a thread with its attempts and what it spent. */
export async function readWhole(host: Host, ref: ThreadRef): Promise<WholeThread> {
  const view = await host.read(ref);
  const attempts = await host.attempts(ref);
  return { view, attempts, ledger: ledgerOf(attempts) };
}
