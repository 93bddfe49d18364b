import type { HostChange, ThreadRow } from "@uncaged/workflow/host";
import type { RegistryState } from "../service/store.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import { allRows, listLive, rowNow } from "./list.ts";
import type { HostContext } from "./context.ts";

const lookEveryMs = 250;
/** So many of the newest threads are compared, and those that are driven. */
const mostSeen = 200;

/** A thread as it was shown last, and whether it may still change. */
type Seen = { shown: string; isOver: boolean };

/** The cluster is asked a few times a second what its newest threads are. @see Host.changes */
export async function* changes(
  context: HostContext,
  signal: AbortSignal,
): AsyncGenerator<HostChange> {
  const seen = new Map<string, Seen>();
  let names = await namesOf(context);
  for (const { row } of await look(context, seen)) seen.set(row.threadId, seenOf(row));
  yield { kind: "ready" };
  while (!signal.aborted) {
    for (const change of await look(context, seen).catch(() => [])) {
      seen.set(change.row.threadId, seenOf(change.row));
      yield change;
    }
    for (const threadId of await removed(context, seen).catch(() => [])) {
      seen.delete(threadId);
      yield { kind: "removed", threadId };
    }
    const now = await namesOf(context).catch(() => names);
    if (now !== names) yield { kind: "workflows" };
    names = now;
    if (!signal.aborted) await Bun.sleep(lookEveryMs);
  }
}

const shownOf = ({ status, steps }: ThreadRow): string => `${status} ${steps}`;
const seenOf = (row: ThreadRow): Seen => ({
  shown: shownOf(row),
  isOver: ["completed", "failed", "killed"].includes(row.status),
});

async function look(
  context: HostContext,
  seen: ReadonlyMap<string, Seen>,
): Promise<{ kind: "thread"; row: ThreadRow }[]> {
  const ids = new Set<string>();
  for await (const { threadId } of allRows(context)) {
    if (ids.size >= mostSeen) break;
    if (!seen.get(threadId)?.isOver) ids.add(threadId);
  }
  for (const { threadId } of await listLive(context)) ids.add(threadId);
  for (const [threadId, { isOver }] of seen) if (!isOver) ids.add(threadId);
  const found: { kind: "thread"; row: ThreadRow }[] = [];
  for (const threadId of ids) {
    const meta = await context.client.value<ThreadMeta>("thread", threadId, "meta");
    const row = meta && (await rowNow(context, meta));
    if (row && seen.get(threadId)?.shown !== shownOf(row)) found.push({ kind: "thread", row });
  }
  return found;
}

/** Those that were shown and are gone: a thread that is in the index is there. */
async function removed(context: HostContext, seen: ReadonlyMap<string, Seen>): Promise<string[]> {
  const left = new Set(seen.keys());
  for await (const { threadId } of allRows(context)) left.delete(threadId);
  const gone: string[] = [];
  for (const threadId of left) {
    if (!(await context.client.value("thread", threadId, "meta"))) gone.push(threadId);
  }
  return gone;
}

const namesOf = async ({ client }: HostContext): Promise<number> =>
  (await client.value<RegistryState>("workflow", "registry", "registry"))?.revision ?? 0;
