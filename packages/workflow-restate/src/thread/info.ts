import type { ThreadInfo } from "@uncaged/workflow/store";
import { isLeased, type ThreadMeta } from "./thread.ts";

/** Owner of a thread between the order to drive it and the claim of a worker. */
const ordered = "cluster";

/** Returns a thread's row for the lists of a store. */
export function infoOf(meta: ThreadMeta, now: number): ThreadInfo {
  const { hash, threadId, workflow, createdAt, updatedAt, records, end, last, drive, pause } = meta;
  const holder = isLeased(meta, now) ? (meta.lease?.owner ?? null) : null;
  const waiting = { kind: "waiting", dueAt: last?.wakesAt ?? null } as const;
  return {
    ...{ hash, threadId, name: workflow, createdAt, updatedAt, records },
    state: end ? { kind: "ended" } : last?.waits ? waiting : { kind: "running" },
    paused: pause,
    owner: drive ? (drive.invocation ?? ordered) : holder,
    movedTo: meta.location?.host?.name ?? null,
  };
}
