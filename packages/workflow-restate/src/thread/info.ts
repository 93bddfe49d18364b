import type { ThreadInfo } from "@uncaged/workflow/driver";
import type { ThreadMeta } from "./thread.ts";

/** A thread as a store's lists have it. */
export function infoOf(meta: ThreadMeta): ThreadInfo {
  const { hash, threadId, workflow, createdAt, updatedAt, records, end, last, drive, pause } = meta;
  const waiting = { kind: "waiting", dueAt: last?.wakesAt ?? null } as const;
  return {
    ...{ hash, threadId, name: workflow, createdAt, updatedAt, records },
    state: end ? { kind: "ended" } : last?.waits ? waiting : { kind: "running" },
    paused: pause,
    owner: drive?.invocation ?? null,
    movedTo: meta.location?.host?.name ?? null,
  };
}
