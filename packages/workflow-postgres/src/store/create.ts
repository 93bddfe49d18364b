import {
  type ClaimOptions,
  firstSum,
  type NewThread,
  recordTooLong,
  sealed,
  sumText,
} from "@uncaged/workflow/store";
import type { Database } from "../database/database.ts";
import { maxRecordBytes } from "./claim.ts";
import { columnsOf, dueOf, logNumbers, serverNow, type ThreadRow } from "./rows.ts";

/**
 * Creates a thread in one statement, which locks the bundle of the thread against removal. Returns the thread's row,
 * and whether its bundle is missing; null if the id is in use.
 * @throws WorkflowError `RECORD_TOO_LARGE`
 */
export async function createThread(
  { query, schema }: Pick<Database, "query" | "schema">,
  given: NewThread,
  claim?: ClaimOptions,
): Promise<{ row: ThreadRow; lacksBundle: boolean } | null> {
  const { threadId, hash, name, createdAt, state, records, journal = [], blobsFrom } = given;
  const data = chain(threadId, records);
  const turns = chain(threadId, journal);
  const lines = [
    ...data.texts.map((text, n) => ({ log: logNumbers.data, n, text })),
    ...turns.texts.map((text, n) => ({ log: logNumbers.journal, n, text })),
  ];
  const { forkFrom } = JSON.parse(records[0] ?? "{}") as { forkFrom?: { threadId?: string } };
  const [found] = await query<ThreadRow & { lacks_bundle: boolean }>(
    `WITH bundle AS (
       SELECT hash FROM ${schema}.bundles WHERE hash = $2 FOR KEY SHARE
     ), made AS (
       INSERT INTO ${schema}.threads AS t (thread_id, hash, name, created_at, updated_at, state, due_at, fork_from,
         records, turns, record_sum, turn_sum, fence, owner, lease_until)
       VALUES ($1, $2, $3, $4, ${serverNow}, $5, $6, $7, $8, $9, $10, $11,
         CASE WHEN $12::text IS NULL THEN 0 ELSE nextval('${schema}.fences') END, $12,
         clock_timestamp() + $13 * interval '1 ms')
       ON CONFLICT (thread_id) DO NOTHING
       RETURNING ${columnsOf("t")}
     ), written AS (
       INSERT INTO ${schema}.lines (thread_id, log, n, content)
       SELECT $1, l.log, l.n, l.content FROM made,
         unnest($14::smallint[], $15::int[], $16::text[]) AS l (log, n, content)
     ), copied AS (
       INSERT INTO ${schema}.blobs (thread_id, id, bytes)
       SELECT $1, b.id, b.bytes FROM made, ${schema}.blobs b
         JOIN ${schema}.threads s ON s.thread_id = b.thread_id
       WHERE b.thread_id = $17 AND s.hash = $18 AND b.id = ANY($19::text[])
     )
     SELECT *, NOT EXISTS (SELECT FROM bundle) AS lacks_bundle FROM made`,
    [
      ...[threadId, hash, name, createdAt, state.kind, dueOf(state), forkFrom?.threadId ?? null],
      ...[records.length, journal.length, sumText(data.sum), sumText(turns.sum)],
      ...[claim?.owner ?? null, claim?.leaseMs ?? null],
      ...[lines.map(({ log }) => log), lines.map(({ n }) => n), lines.map(({ text }) => text)],
      ...[blobsFrom?.ref.threadId ?? null, blobsFrom?.ref.hash ?? null, blobsFrom?.ids ?? []],
    ],
  );
  if (!found) return null;
  const { lacks_bundle: lacksBundle, ...row } = found;
  return { row, lacksBundle };
}

/** Adds chained checksums to the first records of a log. */
function chain(threadId: string, records: readonly string[]): { texts: string[]; sum: bigint } {
  let sum = firstSum;
  const texts = records.map((record) => {
    const bytes = Buffer.byteLength(record);
    if (bytes > maxRecordBytes) throw recordTooLong(threadId, bytes, maxRecordBytes);
    const next = sealed(record, sum);
    ({ sum } = next);
    return next.text;
  });
  return { texts, sum };
}
