import {
  badCursor,
  type Claim,
  firstSum,
  LogFold,
  type LogName,
  type LogPage,
  nextSum,
  refusals,
  sumText,
  type ThreadRef,
  valueOf,
} from "@uncaged/workflow/store";
import type { Database } from "../database/database.ts";
import { logDamaged } from "./errors.ts";
import { logNumbers, type ThreadRow } from "./rows.ts";

/** The parts of a thread's logs that a claim reads, and the checksums of the last records. */
export type Logs = Pick<Claim, "start" | "steps" | "end" | "journalHead"> & {
  sums: { data: bigint; journal: bigint };
};

const pageBytes = 1024 * 1024;
const pageRows = 512;
const counters = { data: "records", journal: "turns", events: "events" } as const;

/** Returns the location of a thread's log, for messages. */
export const placeOf = ({ address }: Database, { threadId }: ThreadRef, log: LogName): string =>
  `${address.place} (${address.schema}, ${threadId}, ${log} log)`;

/** @see ThreadStore.read */
export async function readPage(
  database: Database,
  ref: ThreadRef,
  log: LogName,
  cursor = `${log}.0`,
): Promise<LogPage> {
  const { schema } = database;
  const { hash, threadId } = ref;
  const [name, digits = ""] = cursor.split(".");
  const from = /^\d{1,9}$/.test(digits) && cursor === `${name}.${digits}` ? Number(digits) : -1;
  // A page always has its first row, whatever the row's length.
  const rows = await database.query<{ total: number; n: number | null; content: string }>(
    `SELECT t.${counters[log]} AS total, l.n, l.content
     FROM ${schema}.threads t LEFT JOIN (
       SELECT n, content, sum(octet_length(content)) OVER (ORDER BY n) AS bytes FROM (
         SELECT n, content FROM ${schema}.lines
         WHERE thread_id = $1 AND log = $3 AND n >= $4 ORDER BY n LIMIT ${pageRows}
       ) AS next
     ) l ON l.bytes <= ${pageBytes} OR l.n = $4
     WHERE t.thread_id = $1 AND t.hash = $2 ORDER BY l.n`,
    [threadId, hash, logNumbers[log], Math.max(from, 0)],
  );
  const total = rows[0]?.total;
  if (total === undefined) throw refusals.notFound(threadId);
  if (name !== log || from < 0 || from > total) throw badCursor(threadId, cursor, log);
  const found = rows.filter(({ n }) => n !== null);
  const wrong = found.findIndex(({ n }, index) => n !== from + index);
  if (wrong >= 0 || (found.length === 0 && from < total)) {
    throw logDamaged(placeOf(database, ref, log), from + Math.max(wrong, 0) + 1, "missing line");
  }
  const to = from + found.length;
  const lines =
    log === "events"
      ? found.flatMap(({ content }) => content.split("\n"))
      : found.map(({ content }) => content);
  return { lines, cursor: `${log}.${to}`, isEnd: to >= total };
}

/**
 * Reads the logs of a thread that was just claimed, and checks the checksums.
 * @throws WorkflowError `LOG_CORRUPT`
 */
export async function readLogs(database: Database, row: ThreadRow): Promise<Logs> {
  const ref = { hash: row.hash, threadId: row.thread_id };
  const fold = new LogFold(ref);
  const steps: Claim["steps"][number][] = [];
  let position = 0;
  for await (const line of linesIn(database, ref, "data", row.records)) {
    const bytes = Buffer.from(line);
    const start = position;
    position += bytes.length + 1;
    const record = fold.take({ value: valueOf(bytes), bytes, start, position });
    if (record !== null && record === fold.last) steps.push(fold.last);
    if (record === null) break;
  }
  const { broken, start, sum } = fold;
  const data = placeOf(database, ref, "data");
  if (broken) throw logDamaged(data, broken.line, broken.reason);
  if (start === null || sum === null || sumText(sum) !== row.record_sum) {
    throw logDamaged(data, fold.lines, "its checksum is not the last checksum of the thread");
  }
  let last = firstSum;
  let count = 0;
  const journal = placeOf(database, ref, "journal");
  for await (const line of linesIn(database, ref, "journal", row.turns)) {
    count += 1;
    const next = nextSum(Buffer.from(line), last);
    if (next === null)
      throw logDamaged(journal, count, "its checksum does not follow from the previous line");
    last = next;
  }
  if (sumText(last) !== row.turn_sum) {
    throw logDamaged(journal, count, "its checksum is not the last checksum of the thread");
  }
  const { end, journal: journalHead } = fold;
  return { start, steps, end, journalHead, sums: { data: sum, journal: last } };
}

/** Yields the first `count` lines of a log. A later holder may already have added more. */
async function* linesIn(
  database: Database,
  ref: ThreadRef,
  log: LogName,
  count: number,
): AsyncGenerator<string> {
  let left = count;
  for (let cursor: string | undefined, isEnd = false; !isEnd && left > 0; ) {
    const page = await readPage(database, ref, log, cursor);
    yield* page.lines.slice(0, left);
    left -= page.lines.length;
    ({ cursor, isEnd } = page);
  }
}
