import type { Usage } from "./usage.ts";

/** What an earlier execution recorded. `failed`: that one came to its end, and failed. */
export type JournalEntry = { entry: unknown; failed: boolean };

/**
 * One call of a model as the thread has paid for it: what it has used as far as that is known, and its cost in US dollars,
 * null when a price is not known. A call is `open` while it goes on, and `broken` when it ended before all of its tokens
 * were counted. `call` is the `call_id` of its `llm_start`.
 */
export type PaidCall = {
  call: string;
  attempt: string | null;
  stepID: string | null;
  model: string;
  usage: Usage;
  cost: number | null;
  state: "open" | "whole" | "broken";
};

/**
 * What the executions of a step record of their work while it goes on, so that the next one goes on from there: after a
 * crash, in a further try, and in a fork that keeps all steps of a thread, as `retry` does. It is found by the step's
 * idempotency key. The calls of models are recorded beside it, by their events.
 */
export type Journal = {
  /** What earlier executions have recorded under a key, the oldest first. What the running one records is not among it. */
  read(key: string): Promise<readonly JournalEntry[]>;
  /**
   * Records a JSON value. It is durable, without secrets, when this resolves; with false when it could not be
   * recorded: then the next execution does the work again. `taken` names calls of models that earlier executions have made
   * and whose results this one goes on from: from now on the running attempt has made them.
   */
  record(key: string, entry: unknown, taken?: readonly string[]): Promise<boolean>;
  /** Resolves when all that was recorded until now, calls of models too, is durable, or could not be recorded. */
  settled?(): Promise<void>;
  /** The calls of models that earlier workers have made for this thread and that no committed step records. */
  paid?(): readonly PaidCall[];
};
