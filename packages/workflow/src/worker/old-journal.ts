/*
 * Reads the journals of earlier versions, whose entries are events of the debug log. This version does not write them.
 *
 * J1 An entry counts exactly as it was written, or not at all: its line and its long value have a checksum.
 * J2 An entry, like a `__wait__` of the thread's log, has the number of earlier durable entries of its step. If fewer
 *    entries are found, some are damaged or lost, and the journal of that step is not read.
 * J3 The last entries of an execution may be missing if no later record counts them: a crash or power loss cut them
 *    off.
 * J4 Entries of the previous version lack checksum and count, and are read without them.
 */
import type { WorkflowError } from "../contract/error.ts";
import { WAIT } from "../contract/contract.ts";
import { markerOf, readEvent, type TruncatedValue } from "../contract/event.ts";
import type { JournalEntry } from "../contract/journal.ts";
import { isRecord } from "../contract/show.ts";
import { LineFile } from "../disk/line-file.ts";
import { outlineLog } from "../disk/log.ts";
import { dataPath, infoPath, type Root, valuesPath } from "../disk/paths.ts";
import { valueAt } from "../disk/values.ts";
import type { Line } from "../record/lines.ts";
import type { StartRecord } from "../record/record.ts";
import { firstSum, nextSum, type Sum, sumIn } from "../record/sum.ts";
import type { ThreadRef } from "../record/thread.ts";
import { xxh64 } from "../record/xxh64.ts";
import { journalCorrupt } from "../record/errors.ts";

/** A thread's log, its debug log and its values. */
type JournalFiles = { threadId: string; data: string; info: string; values: string };

const journalFiles = (root: Root, { hash, threadId }: ThreadRef): JournalFiles => ({
  threadId,
  data: dataPath(root, hash, threadId),
  info: infoPath(root, hash, threadId),
  values: valuesPath(root, hash, threadId),
});

/** Makes the files of another thread available in the root; null if there is none. */
type Find = (threadId: string) => Promise<ThreadRef | null>;

/**
 * Returns the journals that apply to a thread, oldest first: its own journal, and the journal of its source if the
 * thread is a fork that continues at the end of the source. A fork that leaves out steps, or whose source has committed
 * more steps since, repeats the work.
 */
export async function oldJournals(
  root: Root,
  start: StartRecord,
  find: Find,
): Promise<OldJournal[]> {
  const line: ThreadRef[] = [start];
  const seen = new Set<string>();
  for (let from = start.forkFrom; from && !seen.has(from.threadId); ) {
    seen.add(from.threadId);
    const source = await find(from.threadId);
    if (!source) break;
    const log = outlineLog(dataPath(root, source.hash, source.threadId));
    if (log.kind !== "thread" || log.steps !== from.steps) break;
    line.unshift(source);
    from = log.start.forkFrom;
  }
  return line.map((ref) => oldJournal(root, ref));
}

/** A thread's own journal of an earlier version. */
export const oldJournal = (root: Root, ref: ThreadRef): OldJournal =>
  new OldJournal(journalFiles(root, ref));

/** The seed of the checksum of an event whose value has this JSON. */
const valueSum = (json: string): Sum => xxh64(Buffer.from(json));

/** The placeholder of an entry that was too long for its event; null if the event holds the entry. */
function entryMarker(payload: unknown): TruncatedValue | null {
  const entry = isRecord(payload) ? payload.entry : null;
  return isRecord(entry) && entry._truncated === true ? (entry as TruncatedValue) : null;
}

/** Returns the step of a key. Keys of calls within the step start with its key; a key of its worktree adds an `@`. */
const stepOf = (key: string): string => /^[^:@]*(?::[^:@]*){0,2}/.exec(key)?.[0] ?? "";

/** The place of an entry, and the number of earlier entries of its step that it names. */
type Place = { key: string; line: number; start: number; attempt: string | null; after: number };
type StepEntries = { all: Place[]; lost: Set<number>; checked: number; count: number };

const holding = ['"type":"journal"', '"type":"attempt_end"', '"parent":"'];

/** The entries of one debug log. Caches their places; each read continues after the previous read. */
export class OldJournal {
  readonly #files: JournalFiles;
  readonly #steps = new Map<string, StepEntries>();
  readonly #parents = new Map<string, string>();
  readonly #failed = new Set<string>();
  #named: Map<string, { count: number; step: number }> | null = null;
  #position = 0;
  #lines = 0;

  constructor(files: JournalFiles) {
    this.#files = files;
  }

  /**
   * The entries of a key, without entries of open attempts and attempts within them.
   * @throws WorkflowError `LOG_CORRUPT` when entries of the key's step are damaged or lost.
   */
  of(key: string, isOpen: (attempt: string) => boolean): JournalEntry[] {
    this.#scan();
    const step = stepOf(key);
    this.#check(step);
    const { all = [], lost } = this.#steps.get(step) ?? {};
    return all.flatMap((place) => {
      if (place.key !== key || lost?.has(place.start)) return [];
      const chain = this.#chainOf(place.attempt);
      if (chain.some(isOpen)) return [];
      const found = this.#read(place);
      if (!found) throw this.#damaged(place);
      const failed = chain.some((id) => this.#failed.has(id));
      return found.entry === undefined ? [] : [{ entry: found.entry, failed }];
    });
  }

  /** Checks the entries of all steps. @throws WorkflowError `LOG_CORRUPT` at the first step with damage. */
  checkAll(): void {
    this.#scan();
    const steps = new Set([...this.#steps.keys(), ...this.#namedIn().keys()]);
    for (const step of steps) this.#check(step);
  }

  #scan(): void {
    const file = new LineFile(this.#files.info);
    for (const { value, start, position } of file.forward(this.#position, holding)) {
      this.#position = position;
      this.#lines += 1;
      const event = value === undefined ? null : readEvent(value);
      if (!event) continue;
      const { type, attempt = null, payload } = event;
      if (type === "attempt_start" && attempt && typeof payload.parent === "string") {
        this.#parents.set(attempt, payload.parent);
      } else if (type === "attempt_end" && attempt && payload.outcome === "failed") {
        this.#failed.add(attempt);
      } else if (type === "journal" && typeof payload.key === "string") {
        const { key, after } = payload;
        const place = { key, line: this.#lines, start, attempt, after: Number(after ?? 0) };
        this.#entriesOf(stepOf(key)).all.push(place);
      }
    }
  }

  #entriesOf(step: string): StepEntries {
    const known = this.#steps.get(step);
    if (known) return known;
    const entries = { all: [], lost: new Set<number>(), checked: 0, count: 0 };
    this.#steps.set(step, entries);
    return entries;
  }

  /** Checks the unchecked entries of a step. */
  #check(step: string): void {
    const entries = this.#entriesOf(step);
    for (; entries.checked < entries.all.length; entries.checked += 1) {
      const place = entries.all[entries.checked] as Place;
      if (!this.#read(place)) {
        entries.lost.add(place.start);
        continue;
      }
      const { after, line } = place;
      if (after > entries.count) throw this.#lacks(entries, after, `before line ${line}`, place);
      entries.count += 1;
    }
    const named = this.#namedIn().get(step);
    if (named && named.count > entries.count) {
      throw this.#lacks(entries, named.count, `before the thread waited at step ${named.step}`);
    }
  }

  /** Returns the entry count of each step, from the thread's last `__wait__` step that names the step. */
  #namedIn(): Map<string, { count: number; step: number }> {
    if (this.#named) return this.#named;
    const named = new Map<string, { count: number; step: number }>();
    let [step, copied] = [-1, 0];
    for (const { value } of new LineFile(this.#files.data).forward(0, [
      '"journal":',
      '"forkFrom":',
    ])) {
      step += 1;
      if (!isRecord(value)) continue;
      if (step === 0) copied = isRecord(value.forkFrom) ? Number(value.forkFrom.steps) : 0;
      // Copied steps count the source's entries.
      if (step <= copied || value.role !== WAIT || !isRecord(value.journal)) continue;
      // Later versions write the head of a journal file in the same field.
      if ("sum" in value.journal) continue;
      for (const [of, count] of Object.entries(value.journal)) {
        if (typeof count === "number") named.set(of, { count, step });
      }
    }
    return (this.#named = named);
  }

  /** Returns an attempt and its outer attempts. */
  #chainOf(attempt: string | null): string[] {
    const chain: string[] = [];
    for (let id = attempt ?? undefined; id !== undefined && !chain.includes(id); ) {
      chain.push(id);
      id = this.#parents.get(id);
    }
    return chain;
  }

  /** Reads an entry: undefined if its whole value was never stored, null if it can't be read. */
  #read({ key, start }: Place): { entry: unknown } | null {
    const [line] = new LineFile(this.#files.info).forward(start);
    const payload = readEvent(line?.value)?.payload;
    if (!line || payload?.key !== key) return null;
    const { entry } = payload;
    const marker = entryMarker(payload);
    const hasSum = sumIn(line.value) !== null;
    if (hasSum && nextSum(line.bytes, firstSum) !== null) {
      return { entry: marker && marker.at === undefined ? undefined : entry };
    }
    if (!marker) return hasSum ? null : { entry };
    if (marker.at === undefined) return hasSum ? null : { entry: undefined };
    const json = valueAt(this.#files.values, marker.at);
    if (json === null) return null;
    const { length, preview } = markerOf(json);
    const isSame = hasSum
      ? nextSum(line.bytes, valueSum(json)) !== null
      : length === marker.length && preview === marker.preview;
    return isSame ? { entry: JSON.parse(json) as unknown } : null;
  }

  /** Returns the error for fewer entries than named. */
  #lacks({ all, lost, checked, count }: StepEntries, named: number, where: string, at?: Place) {
    const seen = all.slice(0, checked);
    const broken = seen.findLast(({ start }) => lost.has(start));
    if (broken) return this.#damaged(broken);
    const { info, threadId } = this.#files;
    const line = this.#unreadable(seen.at(-1)?.start ?? 0, at?.start);
    if (line !== null) return journalCorrupt(`${info}:${line}`, "unreadable line", threadId);
    const lacking = `${named - count} of the ${named} entries that a step has recorded ${where}`;
    return journalCorrupt(
      info,
      `${lacking} ${named - count === 1 ? "is" : "are"} missing`,
      threadId,
    );
  }

  #damaged({ line, start }: Place): WorkflowError {
    const { info, values, threadId } = this.#files;
    const [found] = new LineFile(info).forward(start);
    const marker = found && entryMarker(readEvent(found.value)?.payload);
    if (typeof marker?.at !== "number")
      return journalCorrupt(
        `${info}:${line}`,
        "the entry of a step differs from its record",
        threadId,
      );
    const problem = `the value at byte ${marker.at} differs from its record in line ${line} of ${info}`;
    return journalCorrupt(values, problem, threadId);
  }

  /** Returns the number of the first line between two positions that is not JSON, or null. */
  #unreadable(from: number, to = Infinity): number | null {
    let number = 0;
    const isBroken = ({ start, value }: Line) => start >= from && start < to && value === undefined;
    for (const line of new LineFile(this.#files.info).forward()) {
      number += 1;
      if (isBroken(line)) return number;
    }
    return null;
  }
}
