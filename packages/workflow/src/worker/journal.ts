import type { Step } from "../contract/contract.ts";
import { type EventPayloads, type EventRecord, knownEvent } from "../contract/event.ts";
import type { Journal, JournalEntry, PaidCall } from "../contract/journal.ts";
import type { Mask } from "../contract/mask.ts";
import { noUsage, readUsage } from "../contract/usage.ts";
import type { JournalFold, JournalRecord } from "../record/journal.ts";
import type { JournalHead } from "../record/record.ts";
import { spendingOf, textOr } from "../record/spending.ts";
import { recordedFailure } from "../record/step-tries.ts";
import type { Claim } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { JournalReader } from "./journal-reader.ts";

/** Entries that an earlier version stored elsewhere. */
export type OldEntries = {
  of(key: string, isOpen: (attempt: string) => boolean): readonly JournalEntry[];
};

/** The parts of a driven thread that a journal needs. */
export type JournalParts = {
  claim: Pick<Claim, "ref" | "steps" | "journal">;
  /** The journal at the time of the claim. */
  reader: JournalReader;
  /** Entries of an earlier version, oldest first. */
  old: () => Promise<readonly OldEntries[]>;
  mask: Mask;
  /** Whether an attempt is open. */
  isOpen: (attempt: string) => boolean;
  /** The attempt of the running code. */
  attempt: () => string | null;
};

type Starting = { role: string | null; parent?: string; step: number };
type Unstamped<R> = R extends unknown ? Omit<R, "at"> : never;

/** The journal of a driven thread: entries of its roles, and costs of its model calls. */
export class ThreadJournal {
  /** The workflow's interface to the journal. */
  readonly journal: Journal;
  readonly #parts: JournalParts;
  readonly #paid: readonly PaidCall[];
  /** The start time of this worker, earlier than all of its events. */
  readonly #since = system.clock.now();
  /** The number of durable records. */
  #records: number;
  #old: Promise<readonly OldEntries[]> | null = null;
  /** Resolves when the first records of this worker are written. */
  #begun: Promise<void> | null = null;
  /** Writes that are not durable yet. */
  readonly #pending = new Set<Promise<boolean>>();
  /** Open attempts, and whether they are in the journal. */
  readonly #attempts = new Map<string, Starting>();
  readonly #noted = new Set<string>();

  constructor(parts: JournalParts) {
    const { reader, claim } = parts;
    this.#parts = parts;
    this.#records = reader.fold.lines;
    this.#paid = unrecordedCalls(reader.fold, claim.steps);
    this.journal = {
      read: (key) => this.#read(key),
      record: (key, entry, taken) => this.#record(key, entry, taken),
      settled: () => this.#settled(),
      paid: () => this.#paid,
    };
  }

  /** Records the start of an attempt, before the step with this number. */
  started(attempt: string, { role, parent }: EventPayloads["attempt_start"], step: number): void {
    this.#attempts.set(attempt, { role, step, ...(parent !== undefined && { parent }) });
  }

  /** Records the end of an attempt. */
  ended(attempt: string, outcome: EventPayloads["attempt_end"]["outcome"]): void {
    if (outcome === "failed" && this.#noted.has(attempt)) {
      void this.#write({ kind: "failed", attempt });
    }
    this.over(attempt);
  }

  /** Records that an attempt was committed or discarded. */
  over(attempt: string): void {
    this.#attempts.delete(attempt);
    this.#noted.delete(attempt);
  }

  /** Records the reports of a model call. */
  event(event: Omit<EventRecord, "seq" | "timestamp">): void {
    const known = knownEvent({ ...event, seq: 0, timestamp: 0 });
    if (known?.type !== "llm_start" && known?.type !== "llm_usage") return;
    const { attempt, payload, stepID } = known;
    const call = payload.call_id;
    const model = textOr(payload.model, "unknown");
    const of = attempt === undefined ? {} : { attempt };
    if (known.type === "llm_start") {
      void this.#write({ kind: "call", call, model, ...of, ...(stepID !== null && { stepID }) });
      return;
    }
    const { cost_usd, state } = known.payload;
    const usage = readUsage(known.payload.usage) ?? noUsage;
    const cost = typeof cost_usd === "number" ? cost_usd : null;
    void this.#write({ kind: "usage", call, model, usage, cost, state, ...of });
  }

  /**
   * Resolves to the journal's head, for a record of the thread's log, when all earlier records are durable; null
   * without a journal.
   */
  head(): Promise<JournalHead | null> | null {
    return this.#records + this.#pending.size === 0 ? null : this.#head();
  }

  async #head(): Promise<JournalHead | null> {
    const { reader } = this.#parts;
    await this.#settled();
    // The next reader reports damage; until then the log names the last intact head.
    await reader.takeUpTo(this.#records).catch(() => undefined);
    return reader.fold.lines > 0 ? reader.fold.head : null;
  }

  async #settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #read(key: string): Promise<JournalEntry[]> {
    const { reader, old, isOpen } = this.#parts;
    await this.#settled();
    this.#old ??= old();
    const earlier = (await this.#old).flatMap((entries) => entries.of(key, isOpen));
    await reader.takeUpTo(this.#records);
    return [...earlier, ...(await reader.entriesOf(key, isOpen))];
  }

  async #record(key: string, entry: unknown, taken: readonly string[] = []): Promise<boolean> {
    const attempt = this.#parts.attempt();
    return await this.#write({
      ...{ kind: "entry", key, entry: entry === undefined ? null : entry },
      ...(attempt !== null && { attempt }),
      ...(taken.length > 0 && { taken }),
    });
  }

  #write(record: Unstamped<JournalRecord>): Promise<boolean> {
    if ("attempt" in record && record.attempt !== undefined) this.#note(record.attempt);
    return this.#append(record);
  }

  /** Records an attempt and its outer attempts in the journal. */
  #note(attempt: string): void {
    const starting = this.#attempts.get(attempt);
    if (!starting || this.#noted.has(attempt)) return;
    this.#noted.add(attempt);
    if (starting.parent !== undefined) this.#note(starting.parent);
    void this.#append({ kind: "attempt", attempt, ...starting }).then((isThere) => {
      if (!isThere) this.#noted.delete(attempt);
    });
  }

  #append(record: Unstamped<JournalRecord>): Promise<boolean> {
    const appended = async (): Promise<boolean> => {
      try {
        const text = textOfRecord({ ...record, at: system.clock.now() }, this.#parts.mask);
        await this.#begin();
        await this.#appendText(text);
        return true;
      } catch {
        // The next execution repeats the work; the thread continues.
        return false;
      }
    };
    const pending = appended();
    this.#pending.add(pending);
    void pending.then(() => this.#pending.delete(pending));
    return pending;
  }

  /** Starts a new journal with the record of its thread, and this worker's records with a `worker` record. */
  #begin(): Promise<void> {
    this.#begun ??= this.#writeFirst().catch((error: unknown) => {
      this.#begun = null;
      throw error;
    });
    return this.#begun;
  }

  async #writeFirst(): Promise<void> {
    const { ref, steps } = this.#parts.claim;
    const { hash, threadId } = ref;
    const at = this.#since;
    const first = { kind: "journal", hash, threadId, at };
    if (this.#records === 0) await this.#appendText(JSON.stringify(first));
    await this.#appendText(JSON.stringify({ kind: "worker", steps: steps.length, at }));
  }

  async #appendText(text: string): Promise<void> {
    await this.#parts.claim.journal(text);
    this.#records += 1;
  }
}

const texts = ["key", "entry", "role", "model", "stepID"];

/** The text of a record, without secrets. */
function textOfRecord(record: JournalRecord, mask: Mask): string {
  const json = JSON.stringify(record);
  if (mask(json) === json) return json;
  const whole = JSON.parse(json) as Record<string, unknown>;
  for (const name of texts) if (name in whole) whole[name] = mask.value(whole[name]);
  return JSON.stringify(whole);
}

/** The calls that are not recorded in a committed step's meta. */
function unrecordedCalls(fold: JournalFold, steps: readonly Step[]): PaidCall[] {
  const recorded = new Set<string>();
  for (const { attempt, meta } of steps) {
    const isRecorded = spendingOf(meta) !== null || recordedFailure(meta) === null;
    if (attempt !== undefined && isRecorded) recorded.add(attempt);
  }
  return [...fold.calls.values()].filter(
    ({ attempt }) => attempt !== null && !fold.chainOf(attempt).some((id) => recorded.has(id)),
  );
}
