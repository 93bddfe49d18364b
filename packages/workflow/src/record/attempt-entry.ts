import type { PaidCall } from "../contract/journal.ts";
import { isRecord } from "../contract/show.ts";
import { addUsage } from "../contract/usage.ts";
import type { Attempt } from "./attempt.ts";
import { addCost, type Call, type Spent, spendingOf, sumByModel } from "./spending.ts";

/** Attempts and model calls recorded in a thread's journal. */
export type JournalFacts = {
  attempts: ReadonlyMap<
    string,
    {
      attempt: string;
      role: string | null;
      parent: string | null;
      status: "open" | "failed" | "lost";
      at: number;
      isForeign: boolean;
    }
  >;
  calls: ReadonlyMap<string, PaidCall>;
  /** Start time of the worker that created the journal; null without a journal. */
  since: number | null;
};

/** An attempt with the sources of its usage and cost. */
export class AttemptEntry {
  readonly attempt: Attempt;
  lastAt: number;
  /** Time of its last record in the journal. */
  recordedAt: number | null = null;
  /** Whether another thread paid for a part of the attempt. */
  isForeign = false;
  /** Spending recorded in the committed step. */
  committed: { models: Record<string, Spent>; model: string | null } | null = null;
  /** Whether the next text starts a new turn, because a model was called again. */
  isNewTurn = false;
  #reported: AttemptEntry["committed"] = null;
  readonly #calls = new Map<string, Call & { at: number | null }>();
  /** Sums that an agent reported after its calls. */
  readonly #sums: Call[] = [];
  /** Whether the attempt's calls are in the journal. */
  #isRecorded = false;

  constructor(id: string, startedAt: number | null) {
    this.lastAt = startedAt ?? 0;
    this.attempt = {
      attempt: id,
      role: null,
      path: [],
      parent: null,
      title: null,
      stepID: null,
      step: null,
      status: "running",
      startedAt,
      endedAt: null,
      turns: [],
      usage: null,
      cost: null,
      model: null,
      models: {},
      recorded: false,
      unknown: 0,
      paid: null,
      retries: [],
      error: null,
      warnings: [],
      session: null,
      input: null,
      output: null,
      notes: [],
      saved: false,
      version: 0,
    };
  }

  /** Sets the spending that a role reports at its end. The record of a committed step takes precedence. */
  report(spent: unknown): void {
    this.#reported = spendingOf(isRecord(spent) ? spent : {}) ?? this.#reported;
    this.count();
  }

  /** Sets the cost of a call. `at` is the time of the event that reported it, null if the journal did. */
  call(id: string, call: Call, at: number | null): void {
    this.#calls.set(id, { ...call, at });
    this.count();
  }

  /**
   * Discards costs from events later than `since`, the start of the journal, which has these costs itself. `isKnown`:
   * whether the journal has records of the attempt.
   */
  forget(since: number, isKnown: boolean): void {
    this.#isRecorded = isKnown;
    for (const [id, { at }] of this.#calls) {
      if (at === null || at < since) continue;
      this.#calls.delete(id);
      this.#isRecorded = true;
    }
  }

  calls(call: Call): void {
    this.#sums.push(call);
    this.count();
  }

  /** Computes usage and cost. A step's record outranks its events, which are not synced. */
  count(): void {
    const { attempt } = this;
    // Only the record of a copied step counts: its events belong to the thread that paid.
    const isReported = !this.#isRecorded && !attempt.saved;
    const committed = this.committed ?? (isReported ? this.#reported : null);
    // Ignore the sum of an agent that also reports each call.
    const isEach = this.#calls.size > 0 || this.#isRecorded;
    const calls = isEach ? [...this.#calls.values()] : this.#sums;
    const models = committed?.models ?? sumByModel(calls);
    const spent = Object.values(models);
    attempt.models = models;
    attempt.recorded = committed !== null;
    attempt.paid = this.isForeign && !attempt.saved ? sumByModel(calls) : null;
    attempt.model = committed?.model ?? calls.at(-1)?.model ?? null;
    attempt.usage = spent.length === 0 ? null : spent.map(({ usage }) => usage).reduce(addUsage);
    attempt.cost = spent.length === 0 ? null : spent.map(({ cost }) => cost).reduce(addCost);
    const isOver = attempt.endedAt !== null;
    attempt.unknown = isOver ? calls.filter(({ state }) => state !== "whole").length : 0;
  }
}
