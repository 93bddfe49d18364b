import { appendFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { noteLocation, type Root, threadFiles } from "@uncaged/workflow/store";
import type { ClusterClient } from "../client/client.ts";
import { batchKey, numbered, oldBatchKey, unframe } from "../client/frame.ts";
import { continued, extended, type Span, type Writer } from "../thread/spans.ts";
import type { ThreadMeta } from "../thread/thread.ts";

/** Mirrored part of a thread: numbers of records and debug log batches, bytes of the debug log and their writers. */
type Mirrored = {
  incarnation: string;
  hash: string;
  records: number;
  batches: number;
  journal: number;
  info: number;
  spans: readonly Span[];
};

/** State of a thread's files after the last sync. */
export type Shown = Pick<Mirrored, "records" | "info" | "spans"> & { meta: ThreadMeta };

/**
 * Mirrors threads of a cluster into the files of a storage root, where the ordinary log reader reads them. Files only
 * grow and have the same bytes in every mirror, so a cursor of one mirror is valid in all.
 */
export class Mirror {
  readonly root: Root;
  readonly #client: ClusterClient;
  readonly #known = new Map<string, Mirrored>();
  readonly #metas = new Map<string, ThreadMeta>();
  /** Number of moves of each moved thread, at the last sync. */
  readonly #moves = new Map<string, number>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(root: Root, client: ClusterClient) {
    this.root = root;
    this.#client = client;
  }

  /**
   * Brings a thread's files up to date and returns its meta. When the thread does not exist, deletes its files and
   * returns null. A caller that has just received the meta and all lines passes them as `known` and `lines`.
   */
  sync(
    threadId: string,
    known?: ThreadMeta,
    lines: readonly Buffer[] = [],
  ): Promise<ThreadMeta | null> {
    // A running sync may have read the cluster before the record that the caller expects.
    return this.#alone(threadId, () => this.#sync(threadId, known, lines));
  }

  /**
   * Returns the state of a thread's files; null when it has no files. The last span is the span of the current claim.
   */
  shown(threadId: string): Shown | null {
    const [known, meta] = [this.#known.get(threadId), this.#metas.get(threadId)];
    if (!known || !meta) return null;
    const { records, info } = known;
    const spans = meta.drive ? continued(known.spans, meta.claim, info) : known.spans;
    return { records, info, spans, meta };
  }

  /** Deletes a thread's files. The next {@link sync} writes them again. */
  forget(threadId: string): Promise<void> {
    return this.#alone(threadId, async () => this.#forget(threadId));
  }

  /** Runs actions on the files of a thread in sequence. */
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
    const hasMore = now.records < meta.records || now.batches < meta.batches;
    if (hasMore || now.journal < journalOf(meta)) {
      if (!(await this.#fetch(threadId, now, meta, lines))) return await this.#sync(threadId);
    }
    this.#metas.set(threadId, meta);
    this.#locate(meta);
    return meta;
  }

  /** Records the location of a moved thread in its files. */
  #locate(meta: ThreadMeta): void {
    const { threadId, hash, location } = meta;
    if (this.#moves.get(threadId) === location?.moves) return;
    noteLocation(this.root, { hash, threadId }, location ?? null);
    if (location) this.#moves.set(threadId, location.moves);
  }

  // The debug log and the journal come first, so that a reader of a step finds the events and journal records before
  // it. Returns false when the thread was removed meanwhile.
  async #fetch(
    threadId: string,
    from: Mirrored,
    meta: ThreadMeta,
    lines: readonly Buffer[],
  ): Promise<boolean> {
    const range = (keyOf: (n: number) => string, start: number, end: number) =>
      `(key >= '${keyOf(start)}' AND key < '${keyOf(end)}')`;
    const batches = [batchKey, oldBatchKey].map((key) => range(key, from.batches, meta.batches));
    const logs = [
      range(lineKey, from.records, meta.records),
      range(journalKey, from.journal, journalOf(meta)),
    ];
    const where = ` AND (${[...logs, ...batches].join(" OR ")})`;
    const rows =
      lines.length > 0
        ? lines.map((bytes, n) => ({ key: lineKey(n), bytes }))
        : await this.#client.state("thread", threadId, where);
    const values = new Map(rows.map(({ key, bytes }) => [key, bytes]));
    const { hash, incarnation } = meta;
    const wanted = [
      [from.records, meta.records],
      [from.journal, journalOf(meta)],
      [from.batches, meta.batches],
    ] as const;
    if (rows.length < wanted.reduce((sum, [first, end]) => sum + end - first, 0)) {
      const after = await this.#client.value<ThreadMeta>("thread", threadId, "meta");
      if (after?.incarnation !== incarnation) return false;
    }
    const paths = threadFiles(this.root, { hash, threadId });
    if (from.records === 0 && from.batches === 0) {
      this.#removeFiles(threadId, hash);
      mkdirSync(dirname(paths.data), { recursive: true, mode: 0o700 });
    }
    const info: Buffer[] = [];
    const kept: Buffer[] = [];
    let { info: bytes, spans } = from;
    for (let n = from.batches; n < meta.batches; n += 1) {
      const batch = values.get(batchKey(n)) ?? values.get(oldBatchKey(n));
      const { header, parts } = batch ? unframe(batch) : { header: {}, parts: [] };
      const [events, more] = parts;
      if (events && events.length > 0) {
        spans = extended(spans, header as Writer, bytes);
        bytes += events.length;
        info.push(events);
      }
      if (more) kept.push(more);
    }
    // A missing line becomes `null`, which breaks the checksums: readers then report a corrupt log.
    const linesOf = (keyOf: (n: number) => string, start: number, end: number): Buffer[] =>
      Array.from({ length: end - start }, (_, n) =>
        Buffer.concat([values.get(keyOf(start + n)) ?? Buffer.from("null"), newline]),
      );
    const { records, batches: count } = meta;
    const journal = journalOf(meta);
    append(paths.values, kept);
    append(paths.info, info);
    if (journal > from.journal) append(paths.journal, linesOf(journalKey, from.journal, journal));
    append(paths.data, linesOf(lineKey, from.records, records));
    const mirrored = { incarnation, hash, records, journal, batches: count, info: bytes, spans };
    this.#known.set(threadId, mirrored);
    return true;
  }

  #removeFiles(threadId: string, hash: string): void {
    for (const path of Object.values(threadFiles(this.root, { hash, threadId }))) {
      rmSync(path, { recursive: true, force: true });
    }
    this.#moves.delete(threadId);
    noteLocation(this.root, { hash, threadId }, null);
  }
}

const nothing = { records: 0, batches: 0, journal: 0, info: 0, spans: [] };
const newline = Buffer.from("\n");
const lineKey = (n: number): string => numbered("s", n);
const journalKey = (n: number): string => numbered("j", n);
const journalOf = ({ journal }: ThreadMeta): number => journal?.records ?? 0;

function append(path: string, pieces: Buffer[]): void {
  if (pieces.length > 0 || !existsSync(path))
    appendFileSync(path, Buffer.concat(pieces), { mode: 0o600 });
}
