import { JournalFold, type JournalRecord } from "../record/journal.ts";
import { firstSum, nextSum, type Sum } from "../record/sum.ts";
import type { Claim, ThreadStore } from "../store/store.ts";
import { journalCorrupt } from "../record/errors.ts";

/** The parts of a store that a journal reader needs. */
export type JournalSource = Pick<ThreadStore, "read" | "where">;

type Entry = Extract<JournalRecord, { kind: "entry" }>;
/** The place of an entry: a line of the page after a cursor, and the checksum of the record before it. */
type Place = { cursor: string | undefined; line: number; before: Sum; attempt: string | null };

/** Reads the journal of a claimed thread. Keeps the journal's state and the places of its entries in memory. */
export class JournalReader {
  readonly fold: JournalFold;
  readonly #store: JournalSource;
  readonly #claim: Pick<Claim, "ref" | "journalHead">;
  readonly #places = new Map<string, Place[]>();
  /** The page to read next, and the number of its lines already read. */
  #page: { cursor: string | undefined; taken: number } = { cursor: undefined, taken: 0 };
  #last: Promise<unknown> = Promise.resolve();
  #onRecord: ((record: JournalRecord) => void) | undefined;

  private constructor(store: JournalSource, claim: Pick<Claim, "ref" | "journalHead">) {
    this.#store = store;
    this.#claim = claim;
    this.fold = new JournalFold(claim.ref, claim.journalHead);
  }

  /**
   * Reads the journal of a newly claimed thread.
   * @throws WorkflowError `LOG_CORRUPT` when it is damaged, or lacks records that the thread's log counts.
   */
  static async open(
    store: JournalSource,
    claim: Pick<Claim, "ref" | "journalHead">,
    onRecord?: (record: JournalRecord) => void,
  ): Promise<JournalReader> {
    const reader = new JournalReader(store, claim);
    reader.#onRecord = onRecord;
    await reader.takeUpTo(Number.POSITIVE_INFINITY);
    const lacking = reader.fold.lacks(0);
    if (lacking) throw reader.#broken(lacking.reason, lacking.line);
    return reader;
  }

  /** Reads new records up to a total number of records. @throws WorkflowError `LOG_CORRUPT` */
  takeUpTo(records: number): Promise<void> {
    const taken = this.#last.then(() => this.#take(records));
    this.#last = taken.catch(() => undefined);
    return taken;
  }

  /**
   * Returns the entries of a key, oldest first, without entries of open attempts. @throws WorkflowError `LOG_CORRUPT`
   */
  async entriesOf(
    key: string,
    isOpen: (attempt: string) => boolean,
  ): Promise<{ entry: unknown; failed: boolean }[]> {
    const { fold } = this;
    const found: { entry: unknown; failed: boolean }[] = [];
    const pages = new Map<string | undefined, readonly string[]>();
    for (const { cursor, line, before, attempt } of this.#places.get(key) ?? []) {
      const chain = fold.chainOf(attempt);
      if (chain.some(isOpen)) continue;
      if (!pages.has(cursor)) {
        const { lines } = await this.#store.read(this.#claim.ref, "journal", cursor);
        // The entries of a key are in the order of the pages.
        pages.clear();
        pages.set(cursor, lines);
      }
      const text = pages.get(cursor)?.[line] ?? "";
      if (nextSum(Buffer.from(text), before) === null) {
        throw this.#broken("an entry has changed since it was read");
      }
      const { entry } = JSON.parse(text) as Entry;
      const failed = chain.some((id) => fold.attempts.get(id)?.status === "failed");
      found.push({ entry, failed });
    }
    return found;
  }

  async #take(records: number): Promise<void> {
    const { fold } = this;
    while (fold.lines < records) {
      const { cursor, taken } = this.#page;
      const page = await this.#store.read(this.#claim.ref, "journal", cursor);
      for (const [line, text] of page.lines.entries()) {
        if (line < taken) continue;
        if (fold.lines >= records) return;
        const before = fold.sum ?? firstSum;
        const bytes = Buffer.from(text);
        const record = fold.take({ value: parsed(text), bytes, start: 0, position: 0 });
        if (record === null) throw this.#broken();
        this.#page.taken = line + 1;
        this.#onRecord?.(record);
        if (record.kind === "entry") this.#add(record, { cursor, line, before });
      }
      if (page.lines.length > 0) this.#page = { cursor: page.cursor, taken: 0 };
      if (page.isEnd) return;
    }
  }

  #add({ key, attempt }: Entry, place: Omit<Place, "attempt">): void {
    const places = this.#places.get(key) ?? [];
    this.#places.set(key, places);
    places.push({ ...place, attempt: attempt ?? null });
  }

  #broken(reason = "the record is not as it was written", line = this.fold.lines + 1) {
    const { ref } = this.#claim;
    const found = this.fold.broken ?? { line, offset: 0, reason };
    const place = `${this.#store.where(ref, "journal")}:${found.line}`;
    return journalCorrupt(place, found.reason, ref.threadId);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
