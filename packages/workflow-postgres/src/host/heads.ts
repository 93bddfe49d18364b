import { existsSync } from "node:fs";
import {
  DiskStore,
  firstSum,
  nextSum,
  readLog,
  type Root,
  sumText,
  threadFiles,
  type ThreadInfo,
  type ThreadRef,
} from "@uncaged/workflow/store";
import { linesOf } from "./lines.ts";
import { logBroken, withoutSums } from "./errors.ts";

/** A thread in a storage root, with the heads of its logs. */
export type Heads = {
  info: ThreadInfo;
  forkFrom: string | null;
  records: number;
  turns: number;
  recordSum: string;
  turnSum: string;
};

/**
 * Reads the heads of a thread's logs in a storage root, and checks both checksum chains and all blobs.
 * @throws WorkflowError `LOG_CORRUPT`, `NO_SUMS`, `BLOB_DAMAGED`
 */
export async function headsIn(root: Root, ref: ThreadRef): Promise<Heads> {
  const { threadId } = ref;
  const paths = threadFiles(root, ref);
  const log = readLog(paths.data);
  if (log.kind !== "thread" || log.broken) throw logBroken(threadId, "log");
  const { start, steps, end, sum } = log;
  if (sum === null) throw withoutSums(threadId);
  const store = new DiskStore(root);
  const info = await store.find(threadId);
  if (info?.hash !== ref.hash) throw logBroken(threadId, "log");
  // Throws if the thread's journal is missing.
  await store.read(ref, "journal");
  let last = firstSum;
  let turns = 0;
  for await (const { bytes } of existsSync(paths.journal) ? linesOf(paths.journal) : []) {
    const next = nextSum(bytes, last);
    if (next === null) throw logBroken(threadId, "journal");
    last = next;
    turns += 1;
  }
  if (turns < (log.journal?.records ?? 0)) throw logBroken(threadId, "journal");
  for (const id of await store.listBlobs(ref)) await store.readBlob(ref, id);
  return {
    ...{ info, turns, recordSum: sumText(sum), turnSum: sumText(last) },
    forkFrom: start.forkFrom?.threadId ?? null,
    records: 1 + steps.length + (end ? 1 : 0),
  };
}
