import { existsSync, statSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import type { Arrival, MoveOptions } from "@uncaged/workflow/internal";
import {
  DiskStore,
  type Location,
  movedError,
  type Root,
  threadFiles,
  type ThreadRef,
} from "@uncaged/workflow/store";
import type { Database, Query } from "../database/database.ts";
import { rowChars, seqOf } from "../store/claim.ts";
import { dueOf, logNumbers } from "../store/rows.ts";
import { bundleMissing, movedAndRemoved, otherThread, threadExists } from "./errors.ts";
import { type Heads, headsIn } from "./heads.ts";
import { type FileLine, linesOf } from "./lines.ts";

/** Maximum characters of a statement, unless its only line is longer. */
const statementChars = 4 * 1024 * 1024;
const statementRows = 2_000;

type Line = { log: number; n: number; content: string };
type Report = (bytes: number) => void;
/** The row of a thread that is already in the database. */
type Known = { hash: string; location: string | null };

/**
 * Checks that a thread of a storage root can arrive: its logs are intact, and a copy that remained in the database has
 * the same first records.
 * @throws WorkflowError `NO_SUMS`, `LOG_CORRUPT`, `THREAD_EXISTS`
 */
export async function checkArrival(database: Database, root: Root, ref: ThreadRef): Promise<void> {
  const { threadId } = ref;
  await headsIn(root, ref);
  type Head = { records: number; turns: number; record_sum: string; turn_sum: string };
  const [here] = await database.query<Head>(
    `SELECT records, turns, record_sum, turn_sum FROM ${database.schema}.threads WHERE thread_id = $1`,
    [threadId],
  );
  if (!here) return;
  const { data, journal } = threadFiles(root, ref);
  const isSame =
    (await hasSum(data, here.records, here.record_sum)) &&
    (await hasSum(journal, here.turns, here.turn_sum));
  if (!isSame) throw otherThread(threadId);
}

/** Tells whether record `count` of a log has a checksum. Checksums are chained, so this covers all earlier records. */
async function hasSum(path: string, count: number, sum: string): Promise<boolean> {
  if (count === 0) return true;
  let n = 0;
  for await (const { bytes } of existsSync(path) ? linesOf(path) : []) {
    if (++n === count) return bytes.toString("utf8").endsWith(`"sum":"${sum}"}`);
  }
  return false;
}

/**
 * Receives a thread in one transaction: a reader sees the whole thread or the older copy in the database. Does nothing
 * if the thread has already arrived by this move or a later move.
 * @throws WorkflowError `BUNDLE_MISSING`, `THREAD_EXISTS`, `THREAD_MOVED`
 */
export async function arrive(
  database: Database,
  root: Root,
  ref: ThreadRef,
  arrival: Arrival,
  { onProgress }: MoveOptions,
): Promise<void> {
  const heads = await headsIn(root, ref);
  const { data, journal, info, values } = threadFiles(root, ref);
  const all = [data, journal, info, values].reduce((sum, path) => sum + sizeOf(path), 0);
  let done = 0;
  const report: Report = (bytes) => {
    done += bytes;
    onProgress?.(Math.min(done, all), all);
  };
  await database.within(async (query) => {
    const within = { query, schema: database.schema };
    if (!(await begin(within, ref, heads, arrival))) return;
    const { threadId } = ref;
    const insert = async (lines: AsyncIterable<Line>) => {
      for await (const group of grouped(lines)) await insertLines(within, threadId, group, report);
    };
    await insert(recordsIn(data, logNumbers.data));
    await insert(recordsIn(journal, logNumbers.journal));
    const events = new EventRows();
    await insert(events.in(info));
    await insert(valuesIn(values));
    const blobs = new DiskStore(root);
    for (const id of await blobs.listBlobs(ref)) {
      const bytes = await blobs.readBlob(ref, id);
      const sql = `INSERT INTO ${database.schema}.blobs (thread_id, id, bytes) VALUES ($1, $2, $3)`;
      if (bytes) await query(sql, [threadId, id, Buffer.from(bytes)]);
    }
    await query(
      `UPDATE ${database.schema}.threads SET events = $2, last_seq = $3, long_values = $4 WHERE thread_id = $1`,
      [threadId, events.count, events.lastSeq, sizeOf(values)],
    );
  });
}

type Within = { query: Query; schema: string };

/** Inserts the thread's row, and removes an older copy. Returns false if the thread has already arrived. */
async function begin(
  { query, schema }: Within,
  ref: ThreadRef,
  heads: Heads,
  { moves, paused }: Arrival,
): Promise<boolean> {
  const { threadId } = ref;
  const insert = async (): Promise<boolean> => {
    const { info, forkFrom, records, turns, recordSum, turnSum } = heads;
    const { hash, name, createdAt, updatedAt, state } = info;
    const location: Location = { moves, host: null, at: Date.now() };
    const rows = await query(
      `INSERT INTO ${schema}.threads (thread_id, hash, name, created_at, updated_at, state, due_at, paused, location,
         fork_from, records, turns, record_sum, turn_sum, fence)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, nextval('${schema}.fences'))
       ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id`,
      [
        ...[threadId, hash, name, createdAt, updatedAt, state.kind, dueOf(state)],
        ...[paused && state.kind !== "ended", JSON.stringify(location), forkFrom],
        ...[records, turns, recordSum, turnSum],
      ],
    );
    return rows.length > 0;
  };
  // The lock prevents the removal of the bundle before the thread is inserted.
  const bundle = `SELECT FROM ${schema}.bundles WHERE hash = $1 FOR KEY SHARE`;
  if ((await query(bundle, [ref.hash])).length === 0) throw bundleMissing(ref.hash);
  if (await insert()) {
    const removed = await query<{ location: string }>(
      `SELECT location FROM ${schema}.removals WHERE thread_id = $1 AND location IS NOT NULL`,
      [threadId],
    );
    for (const { location } of removed) {
      const seen = JSON.parse(location) as Location;
      if (seen.moves < moves) continue;
      throw seen.host ? movedError(threadId, seen.host.name) : movedAndRemoved(threadId);
    }
    return true;
  }
  const [here] = await query<Known>(
    `SELECT hash, location FROM ${schema}.threads WHERE thread_id = $1 FOR UPDATE`,
    [threadId],
  );
  // Another process has just removed the thread.
  if (!here) throw movedAndRemoved(threadId);
  if (here.hash !== ref.hash) throw threadExists(threadId);
  const seen = here.location === null ? null : (JSON.parse(here.location) as Location);
  const last = seen?.moves ?? 0;
  if (!seen?.host) {
    if (last >= moves) return false;
    throw threadExists(threadId);
  }
  if (last >= moves) throw movedError(threadId, seen.host.name);
  for (const table of ["lines", "blobs", "threads"]) {
    await query(`DELETE FROM ${schema}.${table} WHERE thread_id = $1`, [threadId]);
  }
  return await insert();
}

async function insertLines(
  { query, schema }: Within,
  threadId: string,
  lines: readonly Line[],
  report: Report,
): Promise<void> {
  await query(
    `INSERT INTO ${schema}.lines (thread_id, log, n, content)
     SELECT $1, l.log, l.n, l.content FROM unnest($2::smallint[], $3::int[], $4::text[]) AS l (log, n, content)`,
    [
      threadId,
      lines.map(({ log }) => log),
      lines.map(({ n }) => n),
      lines.map(({ content }) => content),
    ],
  );
  report(lines.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 1, 0));
}

async function* grouped(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let group: Line[] = [];
  let chars = 0;
  for await (const line of lines) {
    const { length } = line.content;
    if (group.length === statementRows || (group.length > 0 && chars + length > statementChars)) {
      yield group;
      [group, chars] = [[], 0];
    }
    group.push(line);
    chars += length;
  }
  if (group.length > 0) yield group;
}

async function* recordsIn(path: string, log: number): AsyncGenerator<Line> {
  let n = 0;
  for await (const { bytes } of fileLines(path)) {
    yield { log, n, content: bytes.toString("utf8") };
    n += 1;
  }
}

async function* valuesIn(path: string): AsyncGenerator<Line> {
  for await (const { bytes, at } of fileLines(path)) {
    if (isText(bytes)) yield { log: logNumbers.values, n: at, content: bytes.toString("utf8") };
  }
}

/** Groups the lines of a debug log into rows. */
class EventRows {
  count = 0;
  lastSeq = 0;

  async *in(path: string): AsyncGenerator<Line> {
    let chunk: string[] = [];
    let chars = 0;
    const row = (): Line => ({
      log: logNumbers.events,
      n: this.count++,
      content: chunk.join("\n"),
    });
    for await (const { bytes } of fileLines(path)) {
      if (!isText(bytes)) continue;
      const line = bytes.toString("utf8");
      if (chunk.length > 0 && chars + line.length > rowChars) {
        yield row();
        [chunk, chars] = [[], 0];
      }
      chunk.push(line);
      chars += line.length;
      this.lastSeq = Math.max(this.lastSeq, seqOf(line));
    }
    if (chunk.length > 0) yield row();
  }
}

async function* fileLines(path: string): AsyncGenerator<FileLine> {
  if (existsSync(path)) yield* linesOf(path);
}

/**
 * Tells whether PostgreSQL can store a line of an unsynced file. After a system crash, the line may contain bytes that
 * a text column rejects.
 */
const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);
