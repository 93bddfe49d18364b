import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LogName, Root, ThreadRef } from "@uncaged/workflow/store";
import { threadFiles } from "@uncaged/workflow/store";
import type { Database } from "../database/database.ts";
import { logNumbers } from "../store/rows.ts";
import type { PostgresStore } from "../store/store.ts";

const own = { mode: 0o600 };
const newline = 10;
const pageRows = 64;

/**
 * Copies a thread's logs, values and blobs into a storage root, byte for byte as a storage root writes them.
 * @throws WorkflowError `THREAD_NOT_FOUND`, `LOG_CORRUPT`
 */
export async function copyThread(
  database: Database,
  store: PostgresStore,
  root: Root,
  ref: ThreadRef,
): Promise<void> {
  const paths = threadFiles(root, ref);
  for (const path of Object.values(paths)) rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(paths.data), { recursive: true, mode: 0o700 });
  // Copy the records last, so that the journal and the debug log contain everything that a record refers to.
  await copyValues(database, ref, paths.values);
  await copyLog(store, ref, "events", paths.info);
  await copyLog(store, ref, "journal", paths.journal);
  await copyLog(store, ref, "data", paths.data);
  for (const id of await store.listBlobs(ref)) {
    const bytes = await store.readBlob(ref, id);
    if (bytes === null) continue;
    mkdirSync(paths.blobs, { recursive: true, mode: 0o700 });
    writeFileSync(join(paths.blobs, id), bytes, own);
  }
}

async function copyLog(store: PostgresStore, ref: ThreadRef, log: LogName, path: string) {
  for (let cursor: string | undefined, isEnd = false; !isEnd; ) {
    const page = await store.read(ref, log, cursor);
    if (page.lines.length > 0) appendFileSync(path, `${page.lines.join("\n")}\n`, own);
    ({ cursor, isEnd } = page);
  }
}

/** Writes each value at the byte offset that events refer to. */
async function copyValues(database: Database, { threadId }: ThreadRef, path: string) {
  let size = 0;
  for (let from = 0, isEnd = false; !isEnd; ) {
    const rows = await database.query<{ n: number; content: string }>(
      `SELECT n, content FROM ${database.schema}.lines
       WHERE thread_id = $1 AND log = ${logNumbers.values} AND n >= $2 ORDER BY n LIMIT ${pageRows}`,
      [threadId, from],
    );
    for (const { n, content } of rows) {
      // A gap is a damaged value, which the arrival omitted.
      const gap = Buffer.alloc(Math.max(0, n - size), newline);
      const line = Buffer.from(`${content}\n`);
      appendFileSync(path, Buffer.concat([gap, line]), own);
      size += gap.length + line.length;
    }
    from = (rows.at(-1)?.n ?? 0) + 1;
    isEnd = rows.length < pageRows;
  }
}
