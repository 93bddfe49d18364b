import { type ErrorRecord, isWorkflowError, toErrorRecord } from "../contract/error.ts";
import { concurrently } from "../durable/scheduler.ts";
import type { Status, ThreadRef, ThreadRow } from "../record/thread.ts";
import type { Environment } from "../system/port.ts";
import type { Host } from "./host.ts";

/** The stopped threads of a host, and the failures. */
export type StoppedAll = {
  stopped: (ThreadRef & { workflow: string })[];
  failed: (ThreadRef & { error: ErrorRecord })[];
};

/** The command that {@link stopAll} sends to each thread. */
export type StopAll = { kind: "pause" } | { kind: "kill"; force?: boolean; env?: Environment };

const pageLength = 500;
const threadsAtOnce = 8;
/** Maximum number of rounds: a thread may start other threads before it stops. */
const mostRounds = 20;
const over = new Set(["THREAD_ENDED", "THREAD_NOT_FOUND", "THREAD_MOVED", "NOT_RUNNING"]);

const statusesFor: Record<StopAll["kind"], readonly Status[]> = {
  pause: ["running", "waiting"],
  kill: ["running", "paused", "waiting"],
};

/**
 * Returns the threads that {@link stopAll} would stop. A pause skips waiting threads: only an answer continues them.
 */
export async function openThreads(host: Host, kind: StopAll["kind"]): Promise<ThreadRow[]> {
  const rows: ThreadRow[] = [];
  for (let before: string | undefined; ; ) {
    const query = { status: statusesFor[kind], limit: pageLength };
    const page = await host.threads({ ...query, ...(before !== undefined && { before }) });
    rows.push(...page.rows);
    if (page.next === null) break;
    before = page.next;
  }
  const goesOn = ({ status, sleepingUntil }: ThreadRow) =>
    status !== "waiting" || sleepingUntil !== undefined;
  return kind === "kill" ? rows : rows.filter(goesOn);
}

/** Pauses or kills all threads of a host, including threads that start during the call. */
export async function stopAll(host: Host, command: StopAll): Promise<StoppedAll> {
  const done: StoppedAll = { stopped: [], failed: [] };
  const seen = new Set<string>();
  const stop = async ({ threadId, hash, workflow }: ThreadRow): Promise<void> => {
    try {
      await host.control({ threadId, hash }, command);
      done.stopped.push({ threadId, hash, workflow });
    } catch (error) {
      if (isWorkflowError(error) && over.has(error.code)) return;
      done.failed.push({ threadId, hash, error: toErrorRecord(error) });
    }
  };
  for (let round = 0; round < mostRounds; round += 1) {
    const open = await openThreads(host, command.kind);
    const rows = open.filter(({ threadId }) => !seen.has(threadId));
    if (rows.length === 0) break;
    for (const { threadId } of rows) seen.add(threadId);
    await concurrently(
      rows.map((row) => () => stop(row)),
      { limit: threadsAtOnce },
    );
  }
  return done;
}
