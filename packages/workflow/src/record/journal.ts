/*
 * The records of a thread's journal, `<threadId>.journal.jsonl`, and the fold over them.
 *
 * Owns: the types, checks and meaning of the records. Does not own: the location of a journal, and the time of its
 * writes (worker/journal).
 *
 * J1 The journal is chained like the data log. A changed, lost, duplicate, swapped or foreign line breaks the chain
 *    there.
 * J2 Its first record names the thread.
 * J3 A record of the data log names the journal's head: its number of records at that time, and the sum of its last
 *    record. A journal that is shorter than the head, or has another sum there, is broken.
 * J4 The last records may be missing if no head names them: a crash happened before they were durable.
 * J5 Records of an unknown kind are skipped.
 */
import type { PaidCall } from "../contract/journal.ts";
import { isRecord } from "../contract/show.ts";
import { noUsage, readAmount, readUsage } from "../contract/usage.ts";
import { ChainFold, type OnRecord } from "./fold.ts";
import type { Line, Window } from "./lines.ts";
import type { Lines } from "./reader.ts";
import type { Break, JournalHead } from "./record.ts";
import { sumText } from "./sum.ts";
import type { ThreadRef } from "./thread.ts";

/** The time of each record, `at`, is in milliseconds since the epoch. */
export type JournalRecord = { at: number } & (
  | { kind: "journal"; hash: string; threadId: string }
  /** A worker starts to write: attempts open before this record are lost. */
  | { kind: "worker"; steps: number }
  /** An attempt that other records refer to. */
  | { kind: "attempt"; attempt: string; role: string | null; parent?: string; step: number }
  /** An attempt failed. */
  | { kind: "failed"; attempt: string }
  /** An entry of a step's execution. `taken` names the earlier model calls that its attempt reused. */
  | { kind: "entry"; key: string; entry: unknown; attempt?: string; taken?: readonly string[] }
  /** A model call starts. */
  | { kind: "call"; call: string; model: string; attempt?: string; stepID?: string }
  /** Usage of a call so far. */
  | {
      kind: "usage";
      call: string;
      model: string;
      usage: unknown;
      cost: number | null;
      state: PaidCall["state"];
      attempt?: string;
    }
);

const fields: Record<string, Record<string, "string" | "number" | "any">> = {
  journal: { hash: "string", threadId: "string" },
  worker: { steps: "number" },
  attempt: { attempt: "string", step: "number" },
  failed: { attempt: "string" },
  entry: { key: "string", entry: "any" },
  call: { call: "string", model: "string" },
  usage: { call: "string", model: "string", usage: "any", state: "string" },
};

/** Returns the reason why a value can't be a journal record; null when it can. */
export function violationOfJournal(value: unknown): string | null {
  if (!isRecord(value)) return "the record is not an object";
  const { kind } = value;
  if (typeof kind !== "string") return "missing kind";
  if (!Number.isFinite(value.at)) return "missing time";
  const needed = Object.hasOwn(fields, kind) ? fields[kind] : {};
  for (const [name, type] of Object.entries(needed ?? {})) {
    const isThere = type === "any" ? name in value : typeof value[name] === type;
    if (!isThere) return `missing ${name}`;
  }
  return null;
}

/** An attempt in the journal. It is `lost` when its worker ended before the attempt. */
export type JournalAttempt = {
  attempt: string;
  role: string | null;
  parent: string | null;
  status: "open" | "failed" | "lost";
  /** Time of the attempt's last record, in milliseconds since the epoch. */
  at: number;
  /** Whether the attempt continues from calls that another thread paid for. */
  isForeign: boolean;
};

/** Folds the records of a journal incrementally. */
export class JournalFold extends ChainFold<JournalRecord> {
  protected override readonly needsSums = true;
  readonly #state = new JournalState();
  readonly #head: JournalHead | null;

  /** @param head The journal's head in the data log. */
  constructor(of: string | ThreadRef, head: JournalHead | null) {
    super(of);
    this.#head = head;
  }

  get calls(): ReadonlyMap<string, PaidCall> {
    return this.#state.calls;
  }

  get attempts(): ReadonlyMap<string, JournalAttempt> {
    return this.#state.attempts;
  }

  /** Start time of the worker that created the journal; null without a journal. */
  get since(): number | null {
    return this.#state.since;
  }

  get head(): JournalHead {
    return { records: this.lines, sum: sumText(this.sum ?? 0n) };
  }

  // Read each record separately, to compare the sum at the head's record.
  override takeAll(window: Window, onRecord: OnRecord<JournalRecord>): void {
    this.takeEach(window, onRecord);
  }

  override take(line: Line): JournalRecord | null {
    const record = super.take(line);
    if (record && this.#head?.records === this.lines && this.#head.sum !== this.head.sum) {
      this.broken = breakAt(
        line.start,
        this.lines,
        "the record differs from the head in the thread's log",
      );
      return null;
    }
    return record;
  }

  /** Returns an attempt and its parents. */
  chainOf(attempt: string | null): string[] {
    const chain: string[] = [];
    for (let id: string | null = attempt; id !== null && !chain.includes(id); ) {
      chain.push(id);
      const known: JournalAttempt | undefined = this.attempts.get(id);
      id = known?.parent ?? null;
    }
    return chain;
  }

  /** Returns the break when the journal lacks records at its end that the data log counts; else null. */
  lacks(size: number): Break | null {
    const named = this.#head?.records ?? 0;
    if (named <= this.lines) return null;
    const missing = named - this.lines;
    return breakAt(
      size,
      this.lines + 1,
      missing === 1
        ? "1 record counted by the thread's log is missing"
        : `${missing} records counted by the thread's log are missing`,
    );
  }

  protected override violation(value: unknown): string | null {
    const violation = violationOfJournal(value);
    if (violation !== null) return violation;
    const record = value as JournalRecord;
    if (this.lines > 0)
      return record.kind === "journal" ? "unexpected second journal record" : null;
    return record.kind === "journal"
      ? this.violationOfOwner(record)
      : "missing journal record at the start";
  }

  protected override record(value: unknown): JournalRecord {
    const record = value as JournalRecord;
    this.#state.take(record);
    return record;
  }
}

/** Model calls and attempts in a journal's records, without a check of their chain. */
export class JournalState {
  readonly calls = new Map<string, PaidCall>();
  readonly attempts = new Map<string, JournalAttempt>();
  since: number | null = null;

  take(record: JournalRecord): void {
    switch (record.kind) {
      case "journal":
        this.since = record.at;
        break;
      case "worker":
        for (const attempt of this.attempts.values()) {
          if (attempt.status === "open") attempt.status = "lost";
        }
        break;
      case "attempt": {
        const { attempt, role, parent = null, at } = record;
        this.attempts.set(attempt, {
          ...{ attempt, role, parent, at },
          status: "open",
          isForeign: false,
        });
        break;
      }
      case "failed":
        this.#seen(record.attempt, record.at);
        this.#attempt(record.attempt).status = "failed";
        break;
      case "entry":
        this.#takeOver(record);
        break;
      case "call": {
        const { call, model, attempt = null, stepID = null, at } = record;
        this.#seen(attempt, at);
        this.calls.set(call, {
          ...{ call, attempt, stepID, model },
          ...{ usage: noUsage, cost: null, state: "open" },
        });
        break;
      }
      case "usage":
        this.#takeUsage(record);
    }
  }

  #takeUsage(record: RecordOf<"usage">): void {
    const { call, model, usage, cost, state, at } = record;
    const known = this.calls.get(call);
    const attempt = known?.attempt ?? record.attempt ?? null;
    this.#seen(attempt, at);
    this.calls.set(call, {
      ...{ call, attempt, stepID: known?.stepID ?? null, model },
      ...{ usage: readUsage(usage) ?? noUsage, cost: readAmount(cost), state },
    });
  }

  #takeOver({ attempt, taken = [], at }: RecordOf<"entry">): void {
    this.#seen(attempt ?? null, at);
    if (attempt === undefined) return;
    for (const id of taken) {
      const call = this.calls.get(id);
      if (call) this.calls.set(id, { ...call, attempt });
      else this.#attempt(attempt).isForeign = true;
    }
  }

  #seen(attempt: string | null, at: number): void {
    if (attempt !== null) this.#attempt(attempt).at = at;
  }

  #attempt(attempt: string): JournalAttempt {
    const known = this.attempts.get(attempt) ?? {
      ...{ attempt, role: null, parent: null, at: 0 },
      ...{ status: "open" as const, isForeign: false },
    };
    this.attempts.set(attempt, known);
    return known;
  }
}

/** Reads a journal's calls and attempts from its lines. Skips damaged lines, and parses only relevant lines. */
export function journalState(lines: Lines): JournalState {
  const state = new JournalState();
  for (const { value } of lines.forward(0, counted)) {
    if (violationOfJournal(value) === null) state.take(value as JournalRecord);
  }
  return state;
}

const counted = [
  ...["journal", "worker", "attempt", "failed", "call", "usage"].map((kind) => `"kind":"${kind}"`),
  '"taken":',
];

type RecordOf<Kind extends JournalRecord["kind"]> = Extract<JournalRecord, { kind: Kind }>;

const breakAt = (offset: number, line: number, reason: string): Break => ({ line, offset, reason });
