import { appendFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import {
  dataPath,
  infoPath,
  journalPath,
  noteLocation,
  type Root,
  valuesPath,
} from "@uncaged/workflow/driver";
import type { ClusterClient } from "../client/client.ts";
import { batchKey, numbered, oldBatchKey, unframe } from "../client/frame.ts";
import { continued, extended, type Span, type Writer } from "../thread/spans.ts";
import type { ThreadMeta } from "../thread/thread.ts";

/** What of a thread is in the files by now: records, batches of the debug log, its bytes and who has written them. */
type Mirrored = {
  incarnation: string;
  hash: string;
  records: number;
  batches: number;
  info: number;
  spans: readonly Span[];
};

/** A thread as it was when its files were last brought up to date. */
export type Shown = Pick<Mirrored, "records" | "info" | "spans"> & { meta: ThreadMeta };

/**
 * Threads of a cluster as the files that a storage root has of its own: whoever reads them reads by the one reader of
 * logs. A file only grows, and has the same bytes wherever it is mirrored, so that a cursor counts anywhere.
 */
export class Mirror {
  readonly root: Root;
  readonly #client: ClusterClient;
  readonly #known = new Map<string, Mirrored>();
  readonly #metas = new Map<string, ThreadMeta>();
  /** How often those had moved that have moved, when their files were last brought up to date. */
  readonly #moves = new Map<string, number>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(root: Root, client: ClusterClient) {
    this.root = root;
    this.#client = client;
  }

  /**
   * Brings a thread's files up to date and gives what it is; null when there is none, and no file of it is left. `known`:
   * what it is, and `lines` all that it has, for who has just been given that.
   */
  sync(
    threadId: string,
    known?: ThreadMeta,
    lines: readonly Buffer[] = [],
  ): Promise<ThreadMeta | null> {
    // What was asked for before may have missed what the caller knows to be there.
    return this.#alone(threadId, () => this.#sync(threadId, known, lines));
  }

  /** What a thread's files hold; null when they were not made yet, or removed. Whoever has claimed it writes next. */
  shown(threadId: string): Shown | null {
    const [known, meta] = [this.#known.get(threadId), this.#metas.get(threadId)];
    if (!known || !meta) return null;
    const { records, info } = known;
    const spans = meta.drive ? continued(known.spans, meta.claim, info) : known.spans;
    return { records, info, spans, meta };
  }

  /** Removes a thread's files; the next {@link sync} makes them anew. */
  forget(threadId: string): Promise<void> {
    return this.#alone(threadId, async () => this.#forget(threadId));
  }

  /** Has what is done with the files of a thread done one after the other. */
  #alone<T>(threadId: string, act: () => Promise<T>): Promise<T> {
    const before = this.#running.get(threadId) ?? Promise.resolve();
    const next = before.then(act, act);
    this.#running.set(threadId, next);
    const isOver = () => {
      if (this.#running.get(threadId) === next) this.#running.delete(threadId);
    };
    void next.then(isOver, isOver);
    return next;
  }

  #forget(threadId: string): void {
    const known = this.#known.get(threadId);
    this.#known.delete(threadId);
    this.#metas.delete(threadId);
    if (known) this.#removeFiles(threadId, known.hash);
  }

  async #sync(
    threadId: string,
    given?: ThreadMeta,
    lines: readonly Buffer[] = [],
  ): Promise<ThreadMeta | null> {
    const meta = given ?? (await this.#client.value<ThreadMeta>("thread", threadId, "meta"));
    const known = this.#known.get(threadId);
    if (!meta || (known && known.incarnation !== meta.incarnation)) this.#forget(threadId);
    if (!meta) return null;
    const { incarnation, hash } = meta;
    const now = this.#known.get(threadId) ?? { incarnation, hash, ...nothing };
    if (now.records < meta.records || now.batches < meta.batches) {
      if (!(await this.#fetch(threadId, now, meta, lines))) return await this.#sync(threadId);
    }
    this.#metas.set(threadId, meta);
    this.#locate(meta);
    return meta;
  }

  /** Has the readers of the files find that a thread is on another host. */
  #locate(meta: ThreadMeta): void {
    const { threadId, hash, location } = meta;
    if (this.#moves.get(threadId) === location?.moves) return;
    noteLocation(this.root, { hash, threadId }, location ?? null);
    if (location) this.#moves.set(threadId, location.moves);
  }

  // The debug log and the journal first: who reads a step finds what was recorded before it. Gives false when the thread was removed meanwhile.
  async #fetch(
    threadId: string,
    from: Mirrored,
    meta: ThreadMeta,
    lines: readonly Buffer[],
  ): Promise<boolean> {
    const range = (keyOf: (n: number) => string, start: number, end: number) =>
      `(key >= '${keyOf(start)}' AND key < '${keyOf(end)}')`;
    const batches = [batchKey, oldBatchKey].map((key) => range(key, from.batches, meta.batches));
    const where = ` AND (${[range(lineKey, from.records, meta.records), ...batches].join(" OR ")})`;
    const rows =
      lines.length > 0
        ? lines.map((bytes, n) => ({ key: lineKey(n), bytes }))
        : await this.#client.state("thread", threadId, where);
    const values = new Map(rows.map(({ key, bytes }) => [key, bytes]));
    const { hash, incarnation } = meta;
    if (rows.length < meta.records - from.records + meta.batches - from.batches) {
      const after = await this.#client.value<ThreadMeta>("thread", threadId, "meta");
      if (after?.incarnation !== incarnation) return false;
    }
    const paths = {
      data: dataPath(this.root, hash, threadId),
      info: infoPath(this.root, hash, threadId),
      values: valuesPath(this.root, hash, threadId),
      journal: journalPath(this.root, hash, threadId),
    };
    if (from.records === 0 && from.batches === 0) {
      this.#removeFiles(threadId, hash);
      mkdirSync(dirname(paths.data), { recursive: true, mode: 0o700 });
    }
    const info: Buffer[] = [];
    const kept: Buffer[] = [];
    const recorded: Buffer[] = [];
    let { info: bytes, spans } = from;
    for (let n = from.batches; n < meta.batches; n += 1) {
      const batch = values.get(batchKey(n)) ?? values.get(oldBatchKey(n));
      const { header, parts } = batch ? unframe(batch) : { header: {}, parts: [] };
      const [events, more, entries] = parts;
      if (events && events.length > 0) {
        spans = extended(spans, header as Writer, bytes);
        bytes += events.length;
        info.push(events);
      }
      if (more) kept.push(more);
      if (entries) recorded.push(entries);
    }
    const data: Buffer[] = [];
    let records = from.records;
    for (; records < meta.records; records += 1) {
      const line = values.get(lineKey(records));
      // A gap is no thread's log: the reader finds that what follows does not fit.
      data.push(line ?? Buffer.from("null"), newline);
    }
    append(paths.values, kept);
    // A thread without a journal has no file of one.
    if (recorded.some(({ length }) => length > 0)) append(paths.journal, recorded);
    append(paths.info, info);
    append(paths.data, data);
    const mirrored = { incarnation, hash, records, batches: meta.batches, info: bytes, spans };
    this.#known.set(threadId, mirrored);
    return true;
  }

  #removeFiles(threadId: string, hash: string): void {
    for (const path of [dataPath, infoPath, valuesPath, journalPath]) {
      rmSync(path(this.root, hash, threadId), { force: true });
    }
    this.#moves.delete(threadId);
    noteLocation(this.root, { hash, threadId }, null);
  }
}

const nothing = { records: 0, batches: 0, info: 0, spans: [] };
const newline = Buffer.from("\n");
const lineKey = (n: number): string => numbered("s", n);

function append(path: string, pieces: Buffer[]): void {
  if (pieces.length > 0 || !existsSync(path))
    appendFileSync(path, Buffer.concat(pieces), { mode: 0o600 });
}
