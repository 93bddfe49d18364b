import type { ThreadInfo } from "@uncaged/workflow/store";
import { isLeased, type ThreadMeta } from "./thread.ts";

/** The owner of a thread that a worker was ordered to drive, and that none has claimed yet. */
const ordered = "cluster";

/** A thread as a store's lists have it at this time. */
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
