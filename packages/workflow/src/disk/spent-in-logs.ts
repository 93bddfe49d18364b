import { basename, join } from "node:path";
import type { PaidCall } from "../contract/journal.ts";
import { totalTokens, type Usage } from "../contract/usage.ts";
import { JournalFold, type JournalRecord } from "../record/journal.ts";
import type { JournalHead, StartRecord } from "../record/record.ts";
import { spendingOf } from "../record/spending.ts";
import type { ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { ifThere } from "./files.ts";
import { foldFile, readLog } from "./log.ts";
import { dataPath, journalPath, loggedHashes, type Root, threadIdsOf } from "./paths.ts";
import { trashedThreads } from "./trash.ts";

/** Spending and its time: of a model call in the journal, or of a step without recorded calls. */
export type SpentAt = {
  at: number;
  cost: number | null;
  tokens: number;
  call: { id: string; state: PaidCall["state"]; of: ThreadRef } | null;
};

const restEveryMs = 8;

/**
 * Yields the spending of a storage root's threads since a time, including threads in the trash. Leaves out the copied
 * steps of a fork, which another thread paid for. Reads a damaged log up to the damage.
 */
export async function* spentInLogs(root: Root, since: number): AsyncGenerator<SpentAt> {
  let restedAt = system.clock.elapsed();
  for (const files of threadsIn(root)) {
    if (system.clock.elapsed() - restedAt > restEveryMs) {
      await system.clock.turn();
      restedAt = system.clock.elapsed();
    }
    const isNew = [files.data, files.journal].some((path) => changedAt(path) >= since);
    if (isNew) for (const spent of spentIn(files)) if (spent.at >= since) yield spent;
  }
}

/** Returns the spending of a call in a thread's journal; null if the call is not recorded. */
export function journalCall(root: Root, ref: ThreadRef, call: string): SpentAt | null {
  const trashed = trashedThreads(root).find(({ threadId }) => threadId === ref.threadId);
  const files = trashed ? filesIn(root, ref, trashed.folder) : filesIn(root, ref);
  return callsIn(files, null).find((one) => one.call?.id === call) ?? null;
}

type Files = { ref: ThreadRef; data: string; journal: string };

function* threadsIn(root: Root): Generator<Files> {
  for (const hash of loggedHashes(root)) {
    for (const threadId of threadIdsOf(root, hash)) yield filesIn(root, { hash, threadId });
  }
  for (const { hash, threadId, folder } of trashedThreads(root)) {
    yield filesIn(root, { hash, threadId }, folder);
  }
}

function filesIn(root: Root, ref: ThreadRef, folder?: string): Files {
  const { hash, threadId } = ref;
  const [data, journal] = [dataPath(root, hash, threadId), journalPath(root, hash, threadId)];
  const placed = (path: string) => (folder === undefined ? path : join(folder, basename(path)));
  return { ref: { hash, threadId }, data: placed(data), journal: placed(journal) };
}

const changedAt = (path: string): number => system.files.stat(path)?.mtimeMs ?? 0;

function spentIn(files: Files): SpentAt[] {
  const log = ifThere(() => readLog(files.data, true));
  if (log?.kind !== "thread") return callsIn(files, null);
  const journal = new JournalFold(files.ref, log.journal);
  const calls = callsIn(files, journal);
  const paid = new Set<string>();
  for (const { attempt } of journal.calls.values()) {
    for (const id of journal.chainOf(attempt)) paid.add(id);
  }
  const steps = log.steps.slice(copiedIn(log.start)).flatMap(({ attempt, meta, timestamp }) => {
    // The calls are already counted, or another thread paid for them.
    const isElsewhere =
      attempt !== undefined && (paid.has(attempt) || journal.attempts.get(attempt)?.isForeign);
    if (isElsewhere) return [];
    const models = Object.values(spendingOf(meta)?.models ?? {});
    return models.map(({ usage, cost }) => spentAt(timestamp, usage, cost));
  });
  return [...calls, ...steps];
}

const copiedIn = ({ forkFrom }: StartRecord): number => forkFrom?.steps ?? 0;

/** Returns the calls in a thread's journal, with the time of the last record of each. */
function callsIn({ ref, journal: path }: Files, given: JournalFold | null): SpentAt[] {
  const fold = given ?? new JournalFold(ref, null as JournalHead | null);
  const times = new Map<string, number>();
  ifThere(() =>
    foldFile(path, fold, true, (record: JournalRecord) => {
      if (record.kind === "call" || record.kind === "usage") times.set(record.call, record.at);
    }),
  );
  return [...fold.calls.values()].map(({ call, usage, cost, state }) => ({
    ...spentAt(times.get(call) ?? 0, usage, cost),
    call: { id: call, state, of: ref },
  }));
}

const spentAt = (at: number, usage: Usage, cost: number | null): SpentAt => ({
  ...{ at, cost, tokens: totalTokens(usage), call: null },
});
