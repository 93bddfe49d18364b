import type { Usage } from "./usage.ts";

/** A record of an earlier execution. `failed` means that the earlier execution failed. */
export type JournalEntry = { entry: unknown; failed: boolean };

/**
 * One model call paid by the thread: its known usage, and its cost in US dollars, null when a price is unknown. A call
 * is `open` while it runs, and `broken` when it ended before all of its tokens were counted. `call` is the `call_id` of
 * its event `llm_start`.
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
 * Progress records of a step, from which the step's next execution continues: after a crash, in a retry, and in a fork
 * that keeps all steps of a thread, as `retry` does. A `key` is the step's idempotency key. Model calls are recorded
 * separately, by their events.
 */
export type Journal = {
  /** Returns the records of earlier executions under a key, oldest first, without records of the running execution. */
  read(key: string): Promise<readonly JournalEntry[]>;
  /**
   * Records a JSON value. Secrets are masked. Resolves once the record is durable, or with false if it could not be
   * recorded: the next execution then repeats the work. `taken` names model calls of earlier executions whose results
   * this execution reuses: they then belong to the running attempt.
   */
  record(key: string, entry: unknown, taken?: readonly string[]): Promise<boolean>;
  /** Resolves when all earlier records, including model calls, are durable or have failed. */
  settled?(): Promise<void>;
  /** Returns the model calls of this thread's earlier workers that are not recorded in a committed step. */
  paid?(): readonly PaidCall[];
};
