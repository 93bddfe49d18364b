import type { HostChange, ThreadRow } from "@uncaged/workflow/host";
import { shownOf } from "@uncaged/workflow/store";
import { isMoving } from "@uncaged/workflow/internal";
import type { RegistryState } from "../service/store.ts";
import { listLive, overStatuses, readNewest, rowsOfMetas } from "./list.ts";
import type { HostContext } from "./context.ts";

const lookEveryMs = 250;
/** Number of newest threads that each poll compares, in addition to all running threads. */
const mostSeen = 200;

/** Number of other known threads that each poll compares. */
const mostOthers = 50;

/** Last reported state of a thread, whether it has ended, and whether it changes without a request. */
type Seen = { shown: string; isOver: boolean; moves: boolean };

/**
 * Polls the cluster several times a second for its newest threads, the running threads and a part of the other known
 * threads. The cost of a poll does not grow with the number of threads. @see Host.changes
 */
export async function* changes(
  context: HostContext,
  signal: AbortSignal,
): AsyncGenerator<HostChange> {
  const seen = new Map<string, Seen>();
  let names = await namesOf(context);
  for (const row of (await look(context, seen)).rows) seen.set(row.threadId, seenOf(row));
  yield { kind: "ready" };
  while (!signal.aborted) {
    const { rows, gone } = await look(context, seen).catch(() => nothing);
    for (const row of rows) {
      seen.delete(row.threadId);
      seen.set(row.threadId, seenOf(row));
      yield { kind: "thread", row };
    }
    for (const threadId of gone) {
      seen.delete(threadId);
      yield { kind: "removed", threadId };
    }
    const now = await namesOf(context).catch(() => names);
    if (now !== names) yield { kind: "workflows" };
    names = now;
    if (!signal.aborted) await Bun.sleep(lookEveryMs);
  }
}

const seenOf = (row: ThreadRow): Seen => ({
  shown: shownOf(row),
  isOver: overStatuses.has(row.status),
  moves: isMoving(row.status),
});

type Looked = { rows: ThreadRow[]; gone: string[] };
const nothing: Looked = { rows: [], gone: [] };

/** Returns the rows that differ from `seen`, and the removed threads. */
async function look(context: HostContext, seen: Map<string, Seen>): Promise<Looked> {
  const { ids: newest } = await readNewest(context);
  const window = newest.slice(0, mostSeen);
  const ids = new Set(window.filter((id) => !seen.get(id)?.isOver));
  for (const { threadId } of await listLive(context)) ids.add(threadId);
  const [from = ""] = window.slice(-1);
  const listed = new Set(window);
  const others: string[] = [];
  for (const [id, { moves }] of seen) {
    if (moves || (id >= from && !listed.has(id))) ids.add(id);
    else if (others.length < mostOthers && !ids.has(id) && !listed.has(id)) others.push(id);
  }
  for (const id of others) {
    ids.add(id);
    // Move the compared threads to the end, so that the next poll compares the other threads.
    const state = seen.get(id) as Seen;
    seen.delete(id);
    seen.set(id, state);
  }
  const metas = await context.metas([...ids]);
  const rows = await rowsOfMetas(context, [...metas.values()]);
  return {
    rows: rows.filter((row) => seen.get(row.threadId)?.shown !== shownOf(row)),
    gone: [...ids].filter((id) => seen.has(id) && !metas.has(id)),
  };
}

const namesOf = async ({ client }: HostContext): Promise<number> =>
  (await client.value<RegistryState>("workflow", "registry", "registry"))?.revision ?? 0;
