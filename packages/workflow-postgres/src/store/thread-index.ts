import type { IndexEntry, ThreadIndex, ThreadInfo, ThreadRef } from "@uncaged/workflow/store";
import { columnsOf, infoOf, isHeld, type ThreadRow } from "./rows.ts";

/** Maximum number of counted rows, because PostgreSQL reads each row to count it. */
const mostCounted = 1_000;

type Query = <Row extends object>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Returns the index of the threads in a schema. */
export function threadIndex(query: Query, schema: string): ThreadIndex {
  const select = `SELECT ${columnsOf("t")} FROM ${schema}.threads t`;
  const rows = async (sql: string, values: readonly unknown[] = []): Promise<ThreadInfo[]> =>
    (await query<ThreadRow>(sql, values)).map(infoOf);
  return {
    async count() {
      const [row] = await query<{ count: number }>(
        `SELECT count(*) FROM (SELECT FROM ${schema}.threads LIMIT ${mostCounted + 1}) AS found`,
      );
      const count = row?.count ?? 0;
      return count > mostCounted ? null : count;
    },
    async hashes() {
      // Looks up each hash in the index instead of reading all rows.
      const found = await query<{ hash: string }>(
        `WITH RECURSIVE found AS (
           (SELECT hash FROM ${schema}.threads ORDER BY hash LIMIT 1)
           UNION ALL
           SELECT (SELECT t.hash FROM ${schema}.threads t WHERE t.hash > found.hash ORDER BY t.hash LIMIT 1)
           FROM found WHERE found.hash IS NOT NULL
         )
         SELECT hash FROM found WHERE hash IS NOT NULL`,
      );
      return found.map(({ hash }) => hash);
    },
    async matching(text, limit) {
      // Ids contain only these characters, none of which is special in a pattern.
      if (!/^[0-9A-Z]*$/.test(text)) return [];
      return await rows(
        `SELECT * FROM (
           (${select} WHERE t.thread_id LIKE $1 || '%' ORDER BY t.thread_id DESC LIMIT $3)
           UNION
           (${select} WHERE reverse(t.thread_id) LIKE $2 || '%' ORDER BY t.thread_id DESC LIMIT $3)
         ) AS found ORDER BY thread_id DESC LIMIT $3`,
        [text, Array.from(text).toReversed().join(""), limit],
      );
    },
    relatives: (threadId) =>
      rows(
        `WITH RECURSIVE ancestors AS (
           SELECT $1::text COLLATE "C" AS id
           UNION
           SELECT t.fork_from FROM ${schema}.threads t JOIN ancestors a ON t.thread_id = a.id
           WHERE t.fork_from IS NOT NULL
         ), family AS (
           SELECT id FROM ancestors
           UNION
           SELECT t.thread_id FROM ${schema}.threads t JOIN family f ON t.fork_from = f.id
         )
         ${select} JOIN family f ON t.thread_id = f.id ORDER BY t.thread_id DESC`,
        [threadId],
      ),
    active: () =>
      rows(
        `${select} WHERE t.state <> 'ended' AND t.moved_to IS NULL
           AND (t.state = 'running' OR ${isHeld("t")}) ORDER BY t.thread_id DESC`,
      ),
    async entries(refs) {
      type Row = { thread_id: string; hash: string; entry: string; entry_records: number };
      const found = await query<Row>(
        `SELECT thread_id, hash, entry, entry_records FROM ${schema}.threads
         WHERE thread_id = ANY($1) AND entry IS NOT NULL`,
        [refs.map(({ threadId }) => threadId)],
      );
      const wanted = new Map(refs.map(({ threadId, hash }) => [threadId, hash]));
      return new Map<string, IndexEntry>(
        found
          .filter(({ thread_id: id, hash }) => wanted.get(id) === hash)
          .map((row) => [row.thread_id, { records: row.entry_records, json: row.entry }]),
      );
    },
    async keep({ hash, threadId }: ThreadRef, { records, json }) {
      await query(
        `UPDATE ${schema}.threads SET entry = $3, entry_records = $4 WHERE thread_id = $1 AND hash = $2`,
        [threadId, hash, json, records],
      );
    },
  };
}
