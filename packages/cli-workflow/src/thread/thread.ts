import { type Attempt, AttemptLog, readEvent } from "@uncaged/workflow";
import type { Host, ThreadRef, ThreadView } from "@uncaged/workflow/host";
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
  return { view, attempts: await readAttempts(host, ref, view), ledger };
}

/** The attempts of a thread: the one fold of its records and its events. */
export async function readAttempts(
  host: Host,
  ref: ThreadRef,
  { status, forkFrom }: ThreadView,
): Promise<readonly Attempt[]> {
  const log = new AttemptLog({ saved: forkFrom?.steps ?? 0 });
  for await (const item of host.observe(ref, undefined, { until: "now" })) {
    if (item.kind === "step") log.step(item.number, item.step);
    const event = item.kind === "event" ? readEvent(item.event) : null;
    if (event) log.event(event);
    if (item.kind === "end") log.close(item.end);
  }
  if (status === "interrupted") log.close(null);
  return log.attempts;
}
