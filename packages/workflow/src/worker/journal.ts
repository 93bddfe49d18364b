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

/** The entries that an earlier version has kept elsewhere. */
export type OldEntries = {
  of(key: string, isOpen: (attempt: string) => boolean): readonly JournalEntry[];
};

/** What a journal needs of the thread that is driven. */
export type JournalParts = {
  claim: Pick<Claim, "ref" | "steps" | "journal">;
  /** What the journal had when the thread was claimed. */
  reader: JournalReader;
  /** Entries of an earlier version, the oldest first. */
  old: () => Promise<readonly OldEntries[]>;
  mask: Mask;
  /** Whether an attempt is one of those that run. */
  isOpen: (attempt: string) => boolean;
  /** The attempt of the running code. */
  attempt: () => string | null;
};

type Starting = { role: string | null; parent?: string; step: number };
type Unstamped<R> = R extends unknown ? Omit<R, "at"> : never;

/** What a driven thread's roles record, and what its calls of models cost. */
export class ThreadJournal {
  /** As the workflow has it. */
  readonly journal: Journal;
  readonly #parts: JournalParts;
  readonly #paid: readonly PaidCall[];
  /** When this worker began: what its events report came later. */
  readonly #since = system.clock.now();
  /** How many records are durable. */
  #records: number;
  #old: Promise<readonly OldEntries[]> | null = null;
  /** Resolves when the records are written that a worker's own begin with. */
  #begun: Promise<void> | null = null;
  /** What is not durable yet. */
  readonly #pending = new Set<Promise<boolean>>();
  /** Attempts that go on, and those of them that are in the journal. */
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

  /** An attempt begins, before the step with this number. */
  started(attempt: string, { role, parent }: EventPayloads["attempt_start"], step: number): void {
    this.#attempts.set(attempt, { role, step, ...(parent !== undefined && { parent }) });
  }

  /** An attempt has ended. */
  ended(attempt: string, outcome: EventPayloads["attempt_end"]["outcome"]): void {
    if (outcome === "failed" && this.#noted.has(attempt)) {
      void this.#write({ kind: "failed", attempt });
    }
    this.over(attempt);
  }

  /** An attempt was committed, or came to nothing. */
  over(attempt: string): void {
    this.#attempts.delete(attempt);
    this.#noted.delete(attempt);
  }

  /** Takes what a call of a model reports. */
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
   * How far the journal goes, once all that was recorded until now is durable; null when there is none. A record of the
   * thread's log names it.
   */
  head(): Promise<JournalHead | null> | null {
    return this.#records + this.#pending.size === 0 ? null : this.#head();
  }

  async #head(): Promise<JournalHead | null> {
    const { reader } = this.#parts;
    await this.#settled();
    // A damage is named to whoever reads the journal next; until then the log knows what was sound.
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

  /** Has the journal know an attempt, and those that it is within. */
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
        // The next execution does the work again, and the thread goes on.
        return false;
      }
    };
    const pending = appended();
    this.#pending.add(pending);
    void pending.then(() => this.#pending.delete(pending));
    return pending;
  }

  /** Has the journal begin with the record that names its thread, and this worker's records with one of its own. */
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

/** A record as it is written, without secrets. */
function textOfRecord(record: JournalRecord, mask: Mask): string {
  const json = JSON.stringify(record);
  if (mask(json) === json) return json;
  const whole = JSON.parse(json) as Record<string, unknown>;
  for (const name of texts) if (name in whole) whole[name] = mask.value(whole[name]);
  return JSON.stringify(whole);
}

/** The calls that no committed step records in its meta. */
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
