import { attemptTime } from "../contract/attempt.ts";
import { type Step, WAIT } from "../contract/contract.ts";
import {
  type EventPayloads,
  type EventRecord,
  type EventType,
  type KnownEvent,
  knownEvent,
} from "../contract/event.ts";
import { isStepQuestion } from "../contract/question.ts";
import { isRecord } from "../contract/show.ts";
import { noUsage, readAmount, readUsage } from "../contract/usage.ts";
import { type Attempt, type Retry, stoppedAtQuestion } from "./attempt.ts";
import { AttemptEntry, type JournalFacts } from "./attempt-entry.ts";
import { failureIn, recordedFailure, StepTries } from "./step-tries.ts";
import { endTool, entered, finish, isAsked, running, stop, tools, toolTurn } from "./tool-turn.ts";
import { spendingOf, textOr } from "./spending.ts";

/** The fields of an end record that affect attempts. A failed thread has `meta.error`. */
type Ending = { content?: string; meta: { reason: string; error?: unknown } };

/**
 * Computes a thread's attempts from its records and events. Incremental: add each record and each event once, in the
 * order of the log. Events of one attempt may come before and after its record.
 *
 *     const log = new AttemptLog();
 *     log.event(event);
 *     log.step(1, record);
 *     log.attempts; // one, committed
 */
export class AttemptLog {
  /** Events without an attempt: events of the workflow as a whole, and all events of older logs. */
  readonly lines: EventRecord[] = [];
  readonly #saved: number;
  readonly #entries = new Map<string, AttemptEntry>();
  readonly #open = new Set<AttemptEntry>();
  readonly #ended: Attempt[] = [];
  readonly #tries = new StepTries();
  /** Time of each attempt's last question. */
  readonly #askedAt = new Map<string, number>();
  /** Time of the question of each attempt that committed a question. */
  readonly #questions = new Map<string, number>();

  /** @param saved The number of steps copied by a fork. */
  constructor({ saved = 0 }: { saved?: number } = {}) {
    this.#saved = saved;
  }

  /** All attempts in the order of their ends, then open attempts in the order of their starts. */
  get attempts(): readonly Attempt[] {
    if (this.#open.size === 0) return this.#ended;
    return [...this.#ended, ...Array.from(this.#open, ({ attempt }) => attempt)];
  }

  find(id: string): Attempt | undefined {
    return this.#entries.get(id)?.attempt;
  }

  /** Returns the time of an attempt's last event, in milliseconds since the epoch; null for an unknown attempt. */
  lastAt(id: string): number | null {
    return this.#entries.get(id)?.lastAt ?? null;
  }

  /** Adds a committed step; `number` counts from 1. Returns the attempt that committed it. */
  step(number: number, record: Step): Attempt {
    const { attempt: id = `step-${number}`, role, meta, timestamp } = record;
    if (isStepQuestion(record)) this.#asked(String(meta.attempt), timestamp);
    if (role === WAIT) this.#questioned(id, timestamp);
    const entry = this.#entry(id, attemptTime(id));
    const { attempt } = entry;
    attempt.role ??= role;
    attempt.step ??= number;
    attempt.saved = number <= this.#saved;
    attempt.error ??= recordedFailure(meta);
    entry.committed ??= spendingOf(meta);
    this.#tries.take(attempt, record);
    this.#end(entry, attempt.error === null ? "committed" : "failed", timestamp);
    attempt.endedAt = timestamp;
    return attempt;
  }

  /** Adds an event. Returns its attempt, or null when the event does not belong to an attempt. */
  event(event: EventRecord): Attempt | null {
    const known = knownEvent(event);
    if (known?.type === "worker_start") {
      for (const entry of this.#open) this.#end(entry, "lost", entry.lastAt);
    }
    if (event.attempt === undefined) {
      this.lines.push(event);
      return null;
    }
    const entry = this.#entry(event.attempt, attemptTime(event.attempt) ?? event.timestamp);
    const { attempt } = entry;
    attempt.stepID ??= event.stepID;
    if (known?.type !== "attempt_end") entry.lastAt = event.timestamp;
    attempt.version += 1;
    if (known?.type === "attempt_end")
      this.#end(entry, known.payload.outcome, event.timestamp, known);
    else if (known === null || !apply(entry, known)) attempt.notes.push(event);
    if (known?.type === "attempt_start") attempt.retries.push(...this.#triesBefore(known.payload));
    return attempt;
  }

  /**
   * Adds the thread's journal. Call it after all records and events. For a call in the journal only the journal counts.
   * The call belongs to the last attempt that reused it.
   */
  journal({ attempts, calls, since }: JournalFacts): void {
    if (since === null) return;
    for (const { attempt } of calls.values()) if (attempt !== null) this.#known(attempt, attempts);
    for (const { attempt: id, role, parent, status, at, isForeign } of attempts.values()) {
      const entry = this.#entries.get(id);
      if (!entry) continue;
      entry.attempt.role ??= role;
      entry.attempt.parent ??= parent;
      entry.recordedAt = at;
      if (isForeign) this.#foreign(id);
      if (status !== "open" && this.#open.has(entry)) this.#end(entry, status, entry.lastAt);
      this.#park(entry);
    }
    for (const [id, entry] of this.#entries) entry.forget(since, attempts.has(id));
    for (const [id, { attempt, stepID, ...call }] of calls) {
      const entry = attempt === null ? undefined : this.#entries.get(attempt);
      if (!entry) continue;
      entry.attempt.stepID ??= stepID;
      entry.call(id, call, null);
    }
    for (const entry of this.#entries.values()) entry.count();
  }

  /** Adds an attempt from the journal, and its parents, if events did not report them. */
  #known(id: string, attempts: JournalFacts["attempts"]): void {
    if (this.#entries.has(id)) return;
    this.#entry(id, attemptTime(id));
    const parent = attempts.get(id)?.parent ?? null;
    if (parent !== null) this.#known(parent, attempts);
  }

  /** Marks an attempt and its parents as partly paid by another thread. */
  #foreign(id: string): void {
    for (let entry = this.#entries.get(id); entry && !entry.isForeign; ) {
      entry.isForeign = true;
      entry = this.#entries.get(entry.attempt.parent ?? "");
    }
  }

  /**
   * Closes the log of a thread without a worker. With an end record, open attempts become cancelled, or failed if the
   * record names them; without such a record they become lost.
   */
  close(end: Ending | null): void {
    const record = isRecord(end?.meta.error) ? end.meta.error : {};
    const { attempt: failed, role, kept } = record;
    // The end record is synced, while events may be missing.
    if (typeof failed === "string") {
      const entry = this.#entry(failed, attemptTime(failed));
      entry.report(kept);
      entry.attempt.role ??=
        textOr(role, null) ?? (isRecord(kept) ? textOr(kept.role, null) : null);
      entry.attempt.error ??= failureIn(record, end?.content);
    }
    for (const entry of this.#open) {
      const uncommitted = entry.attempt.attempt === failed ? "failed" : "cancelled";
      this.#end(entry, end === null ? "lost" : uncommitted, entry.lastAt);
    }
  }

  /** Returns the earlier tries of the step whose next try starts. */
  #triesBefore({ after }: EventPayloads["attempt_start"]): Retry[] {
    const before = this.find(after?.attempt ?? "");
    if (!after || !before) return [];
    const earlier = before.retries.filter(({ attempt }) => attempt !== undefined);
    const last = {
      at: before.endedAt ?? 0,
      delayMs: readAmount(after.delay_ms),
      error: before.error?.message ?? "",
      attempt: before.attempt,
    };
    return [...earlier, last];
  }

  #end(
    entry: AttemptEntry,
    status: Exclude<Attempt["status"], "running">,
    at: number,
    event?: Extract<KnownEvent, { type: "attempt_end" }>,
  ): void {
    const { attempt } = entry;
    this.#open.delete(entry);
    attempt.version += 1;
    const isLeft = status === "lost" || event?.payload.outcome === "cancelled";
    const askedAt = this.#askedAt.get(attempt.attempt) ?? -1;
    if ((status === "lost" && this.#waits(entry)) || (isLeft && askedAt >= entry.lastAt))
      status = "parked";
    // A failure that the workflow caught is committed, and stays a failure.
    const isFirst = attempt.endedAt === null;
    if (isFirst || attempt.status === "lost" || attempt.status === "cancelled")
      attempt.status = status;
    attempt.endedAt ??= at;
    attempt.error = event?.payload.error ?? attempt.error;
    for (const turn of attempt.turns) if (turn.kind === "tool") stop(turn, at);
    entry.count();
    // The engine's attempt is empty when the workflow opens its own attempts.
    const isEmpty = status === "skipped" && attempt.role === null;
    if (isFirst && !isEmpty) this.#ended.push(attempt);
  }

  /** Records that an attempt waits for an answer. The attempt's events may have been added already. */
  #asked(id: string, at: number): void {
    this.#askedAt.set(id, at);
    const entry = this.#entries.get(id);
    if (entry?.attempt.status === "lost" && at >= entry.lastAt) entry.attempt.status = "parked";
  }

  /** Adds a question that an attempt committed. Later events may have been added already. */
  #questioned(id: string, at: number): void {
    this.#questions.set(id, at);
    for (const entry of this.#entries.values()) {
      const { attempt } = entry;
      if (attempt.status === "lost" && this.#waits(entry)) attempt.status = "parked";
    }
  }

  #waits({ attempt, lastAt }: AttemptEntry): boolean {
    const all = new Map(Array.from(this.#entries, ([id, entry]) => [id, entry.attempt]));
    return stoppedAtQuestion(attempt.attempt, lastAt, { all, questions: this.#questions });
  }

  // Use the journal, because events may be missing: its records after the question show that the attempt continued.
  #park({ attempt, recordedAt }: AttemptEntry): void {
    const askedAt = this.#askedAt.get(attempt.attempt);
    if (askedAt === undefined || recordedAt === null) return;
    if (attempt.status === "lost" || attempt.status === "parked")
      attempt.status = askedAt >= recordedAt ? "parked" : "lost";
  }

  #entry(id: string, startedAt: number | null): AttemptEntry {
    const known = this.#entries.get(id);
    if (known) return known;
    const entry = new AttemptEntry(id, startedAt);
    this.#entries.set(id, entry);
    this.#open.add(entry);
    return entry;
  }
}

type Handlers = {
  [T in EventType]?: (entry: AttemptEntry, payload: EventPayloads[T], at: number) => boolean | void;
};

/**
 * Applies each type of event to its attempt. A handler that returns false adds the event to the notes. A model's tool
 * call, and the start and end that the tool reports, are one turn.
 */
const handlers: Handlers = {
  attempt_start({ attempt }, { role, path = [], title = null, parent = null }, at) {
    Object.assign(attempt, { role, path, title, parent, startedAt: at });
  },
  // Not shown: only the next execution reads it.
  journal: () => undefined,
  step_start({ attempt }, payload) {
    attempt.input = payload;
    attempt.title ??= textOr(payload.meta?.title, null);
  },
  step_done(entry, payload) {
    entry.attempt.output = payload;
    entry.report(payload.spent);
  },
  step_error(entry, { error, spent }) {
    entry.attempt.error = { name: "Error", message: shown(error) };
    entry.report(spent);
  },
  step_warning({ attempt }, { problem }) {
    attempt.warnings.push(problem);
  },
  session({ attempt }, payload) {
    attempt.session = payload;
  },
  llm_thinking: (entry, { delta }, at) => addText(entry, "thinking", delta, at),
  llm_token: (entry, { delta }, at) => addText(entry, "text", delta, at),
  llm_start(entry, { call_id, model }, at) {
    entry.isNewTurn = true;
    entry.call(call_id, { model, usage: noUsage, cost: null, state: "open" }, at);
  },
  llm_usage(entry, { call_id, model, usage, cost_usd, state }, at) {
    const spent = { usage: readUsage(usage) ?? noUsage, cost: readAmount(cost_usd) };
    entry.call(call_id, { model: textOr(model, "unknown"), ...spent, state }, at);
  },
  llm_done(entry, { model, usage, cost_usd }) {
    entry.isNewTurn = true;
    const counted = readUsage(usage);
    if (counted !== null) {
      const cost = readAmount(cost_usd);
      entry.calls({ model: textOr(model, "unknown"), usage: counted, cost, state: "whole" });
    }
    return false;
  },
  llm_retry({ attempt }, { delay_ms, error }, at) {
    attempt.retries.push({ at, delayMs: readAmount(delay_ms), error: shown(error) });
  },
  llm_tool_use({ attempt }, { tool_use_id, name, input }, at) {
    attempt.turns.push(toolTurn(tool_use_id, name, input, at));
  },
  llm_tool_result({ attempt }, { tool_use_id, content, is_error }, at) {
    const turn = tools(attempt).findLast(
      ({ id, endedAt }) => id === tool_use_id && endedAt === null,
    );
    if (turn) finish(turn, content, is_error === true, at);
    return turn !== undefined;
  },
  tool_start({ attempt }, { name, input }, at) {
    const asked = tools(attempt).find((turn) => turn.name === name && isAsked(turn));
    if (asked) entered.add(asked);
    else attempt.turns.push(toolTurn("", name, input, at));
  },
  tool_message({ attempt }, { name, message }) {
    const turn = running(attempt, name);
    turn?.messages.push(shown(message));
    return turn !== undefined;
  },
  tool_done: ({ attempt }, { name, output }, at) => endTool(attempt, name, output, false, at),
  tool_error: ({ attempt }, { name, error, allowError }, at) => {
    const turn = running(attempt, name);
    if (turn && allowError === true) turn.continued = true;
    return endTool(attempt, name, error, true, at);
  },
};

function apply(entry: AttemptEntry, { type, payload, timestamp }: KnownEvent): boolean {
  const handler = handlers[type] as
    | ((entry: AttemptEntry, payload: unknown, at: number) => boolean | void)
    | undefined;
  return handler !== undefined && handler(entry, payload, timestamp) !== false;
}

function addText(entry: AttemptEntry, kind: "thinking" | "text", delta: string, at: number): void {
  const { turns } = entry.attempt;
  const last = turns.at(-1);
  if (last?.kind === kind && !entry.isNewTurn) last.text += delta;
  else turns.push({ kind, text: delta, at });
  entry.isNewTurn = false;
}

const shown = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
