import { type NewThread, sealed, SearchText, subjectOf } from "@uncaged/workflow/store";
import type { StartRecord, Step } from "@uncaged/workflow/host";
import type { ClusterClient } from "../client/client.ts";
import { numbered } from "../client/frame.ts";
import { type Begun, createThread, type Kept, keptBlobs } from "../client/transfer.ts";
import type { StartHeader } from "../service/start.ts";
import { lastOf, takenIds } from "../thread/record.ts";
import { checkLength } from "./claim.ts";

/**
 * With `byClaims`, holders of claims drive the new thread instead of the cluster's workers. `awaits` waits for the
 * index.
 */
export type CreateOptions = Pick<StartHeader, "byClaims" | "awaits">;

/**
 * Creates a thread in the cluster atomically.
 * @throws WorkflowError `RECORD_TOO_LARGE`, and the errors of {@link createThread}
 */
export async function createIn(
  client: ClusterClient,
  thread: NewThread,
  options: CreateOptions = {},
): Promise<Begun> {
  const { threadId, hash, name, createdAt, records, journal = [], blobsFrom } = thread;
  for (const record of [...records, ...journal]) checkLength(record);
  const [data, entries] = [sealedLines(records), sealedLines(journal)];
  const [start, ...steps] = records.map((record) => JSON.parse(record) as Step);
  const { forkFrom } = start as unknown as StartRecord;
  const text = new SearchText();
  for (const step of steps) text.add(step);
  const header = {
    ...{ threadId, hash, workflow: name, createdAt },
    ...(forkFrom && { forkFrom }),
    ...{ records: records.length, sum: data.sum },
    last: lastOf(steps, thread.state),
    ...(journal.length > 0 && { journal: { records: journal.length, sum: entries.sum } }),
    subject: subjectOf(start as unknown as StartRecord),
    text: text.of(start as unknown as StartRecord, null),
    taken: takenIds(steps),
    ...options,
  };
  async function* values(): AsyncGenerator<Kept> {
    for (const [n, bytes] of data.lines.entries()) yield { key: numbered("s", n), bytes };
    for (const [n, bytes] of entries.lines.entries()) yield { key: numbered("j", n), bytes };
    if (blobsFrom && blobsFrom.ids.length > 0) {
      yield* keptBlobs(client, blobsFrom.ref.threadId, new Set(blobsFrom.ids));
    }
  }
  return await createThread(client, header, values);
}

/** Adds a log's chained checksums to records. */
function sealedLines(records: readonly string[]): { lines: Buffer[]; sum: string } {
  let last: bigint | undefined;
  const lines = records.map((record) => {
    const { text, sum } = sealed(record, last);
    last = sum;
    return Buffer.from(text);
  });
  return { lines, sum: (last ?? 0n).toString(16) };
}
