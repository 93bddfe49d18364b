import { join } from "node:path";
import { isWorkflowError, messageOf } from "../../contract/error.ts";
import { concurrently } from "../../durable/scheduler.ts";
import { leftByLog, leftInRoot } from "../../disk/recovery.ts";
import { readLog } from "../../disk/log.ts";
import { isPaused } from "../../disk/paused.ts";
import { dataPath, namesIn, type Root, runDir } from "../../disk/paths.ts";
import type { Recovered, RecoverOptions, ThreadPage, ThreadQuery } from "../../host/host.ts";
import type { ThreadRow } from "../../record/thread.ts";
import { system } from "../../system/system.ts";
import { isAlive, readWorkerInfo } from "../../worker/worker-info.ts";
import { descriptorOf } from "../workflows.ts";
import { LiveWorkers } from "./live.ts";
import { surroundingsOf } from "./surroundings.ts";
import { askAgain } from "./worker-client.ts";

const pageLength = 500;
const threadsAtOnce = 8;
/** Error codes that mean that another process resumed the thread first, or that its state changed. */
const passed = new Set([
  "ALREADY_RUNNING",
  "THREAD_ENDED",
  "THREAD_NOT_FOUND",
  "THREAD_MOVED",
  "WAITING",
  "SLEEPING",
]);

/** @see Host.recover */
export async function recoverThreads(
  root: Root,
  options: RecoverOptions,
  list: (query: ThreadQuery) => Promise<ThreadPage>,
): Promise<Recovered> {
  const { only } = options;
  const done: Recovered = { resumed: [], left: [] };
  if (!system.files.exists(root)) return done;
  const live = new LiveWorkers(root);
  const tasks: (() => Promise<void>)[] = [];
  for (let before: string | undefined; ; ) {
    const status = ["interrupted", "paused"] as const;
    const page = await list({ status, limit: pageLength, ...(before !== undefined && { before }) });
    const rows = only ? page.rows.filter(({ threadId }) => only.includes(threadId)) : page.rows;
    for (const row of rows) tasks.push(() => recoverOne(root, row, options, { live, done }));
    if (page.next === null) break;
    before = page.next;
  }
  await concurrently(tasks, { limit: threadsAtOnce });
  const newestFirst = (a: { threadId: string }, b: { threadId: string }) =>
    a.threadId < b.threadId ? 1 : -1;
  done.resumed.sort(newestFirst);
  done.left.sort(newestFirst);
  return done;
}

async function recoverOne(
  root: Root,
  row: ThreadRow,
  { env, durability, dryRun = false }: RecoverOptions,
  { live, done }: { live: LiveWorkers; done: Recovered },
): Promise<void> {
  const { threadId, hash, workflow } = row;
  const ref = { hash, threadId };
  if (await live.find(ref)) return;
  let byLog: string | null = null;
  const leave = (reason: string) => void done.left.push({ ...ref, workflow, reason });
  try {
    const log = readLog(dataPath(root, hash, threadId));
    if (log.kind !== "thread" || log.broken || log.end) return;
    const given = await surroundingsOf(root, ref, env);
    const thread = { start: log.start, steps: log.steps, paused: isPaused(root, ref) };
    const descriptor = (await descriptorOf(root, hash)) ?? {};
    const reason = leftInRoot(root, thread, given.env, descriptor);
    if (reason !== null) return leave(reason);
    byLog = leftByLog(root, ref);
    if (dryRun && byLog !== null) return leave(byLog);
    if (!dryRun) {
      // The worker decides: another worker may resume the thread at this moment.
      const body = { ...given, durability };
      const path = `/threads/${threadId}/recover`;
      await askAgain(root, hash, { method: "POST", path, body });
    }
    done.resumed.push({ ...ref, workflow });
  } catch (error) {
    const code = isWorkflowError(error) ? error.code : "";
    if (passed.has(code)) return;
    leave((code === "NOT_RECOVERED" && byLog) || messageOf(error));
  }
}

/**
 * Returns unique names of the workers that were lost while they drove threads, including workers that were replaced
 * since. A new name means new interrupted threads.
 */
export function lostWorkers(root: string): string[] {
  const folder = runDir(root as Root);
  return namesIn(folder)
    .filter((name) => name.endsWith(".holder"))
    .flatMap((name) => {
      const worker = readWorkerInfo(join(folder, name));
      if (!worker) return [];
      const { follows, identity, live } = worker;
      const isLost = live.length > 0 && !isAlive(identity);
      return [...(follows ? [follows] : []), ...(isLost ? [identity] : [])].map(
        ({ pid, startTime, bootId }) => `${name} ${pid} ${startTime} ${bootId}`,
      );
    });
}
