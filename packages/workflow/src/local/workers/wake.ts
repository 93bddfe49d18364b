import { toErrorRecord } from "../../contract/error.ts";
import type { WakeRequest, WokenHere } from "../../control/control.ts";
import { concurrently } from "../../durable/scheduler.ts";
import type { WakeOptions, Woken } from "../../host/host.ts";
import {
  addDue,
  type Due,
  isDueComplete,
  listDue,
  nextDue,
  noteDueComplete,
  postponeDue,
  removeDue,
} from "../../disk/due.ts";
import { dataPath, type Root } from "../../disk/paths.ts";
import { system } from "../../system/system.ts";
import { quietWakingTime } from "../../disk/threads.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { definedEnv, folderEnvs } from "./surroundings.ts";
import { allThreads } from "../threads/view.ts";
import { askAgain } from "./worker-client.ts";

const workersAtOnce = 8;
/** Longest time that reading logs blocks other work, in milliseconds. */
const restEveryMs = 8;

/** @see Host.wake */
export async function wakeThreads(root: Root, options: WakeOptions): Promise<Woken> {
  const done: Woken = { woken: [], failed: [], next: null };
  if (!system.files.exists(root)) return done;
  if (!isDueComplete(root)) await completeDue(root);
  const byHash = Map.groupBy(listDue(root, system.clock.now()), ({ hash }) => hash);
  const tasks = [...byHash].map(
    ([hash, due]) =>
      () =>
        wakeHash(root, hash, due, options, done),
  );
  await concurrently(tasks, { limit: workersAtOnce });
  return { ...done, next: nextDue(root) };
}

/** Wakes the due threads of a hash. Retries a failed or unreachable worker in a minute. */
async function wakeHash(
  root: Root,
  hash: string,
  due: readonly Due[],
  { env, durability }: WakeOptions,
  done: Woken,
): Promise<void> {
  const there = due.filter((one) => system.files.exists(dataPath(root, hash, one.threadId)));
  for (const one of due) if (!there.includes(one)) removeDue(root, one);
  if (there.length === 0) return;
  const given = definedEnv(env);
  const refs = there.map(({ threadId }) => ({ hash, threadId }));
  const body: WakeRequest = {
    env: given,
    durability,
    folders: await folderEnvs(root, refs, given),
  };
  const refOf = (threadId: string): ThreadRef => ({ hash, threadId });
  try {
    let isMore = true;
    while (isMore) {
      const request = { method: "POST", path: "/wake", body } as const;
      const { woken, failed, more } = await askAgain<WokenHere>(root, hash, request);
      done.woken.push(...woken.map(refOf));
      done.failed.push(...failed.map(({ threadId, error }) => ({ ...refOf(threadId), error })));
      isMore = more && woken.length > 0;
    }
  } catch (error) {
    const record = toErrorRecord(error);
    for (const one of there) {
      done.failed.push({ ...refOf(one.threadId), error: record });
      postponeDue(root, one);
    }
  }
}

/** Adds missing due entries from all logs. */
async function completeDue(root: Root): Promise<void> {
  let restedAt = system.clock.elapsed();
  for (const ref of allThreads(root)) {
    if (system.clock.elapsed() - restedAt > restEveryMs) {
      await system.clock.turn();
      restedAt = system.clock.elapsed();
    }
    const at = quietWakingTime(root, ref);
    if (at !== null) addDue(root, { ...ref, at });
  }
  noteDueComplete(root);
}
