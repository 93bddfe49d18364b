/** US dollars that all threads of a storage root may spend, in a day and in a month of UTC. */
export type RootLimits = { costPerDay?: number; costPerMonth?: number };

/** A call that may cost up to `most` US dollars, and is of use with `least`. `call` is the `call_id` of its `llm_start`. */
export type CallToPay = { call: string; least: number; most: number };

/**
 * What becomes of a reservation: `amount` US dollars are reserved; or calls in flight hold what is left, and may leave enough;
 * or a limit is used up, until a moment in milliseconds since the epoch.
 */
export type RootReservation =
  | { kind: "reserved"; amount: number }
  | { kind: "busy" }
  | { kind: "spent"; limit: keyof RootLimits; amount: number; spent: number; until: number };

/** What the threads of a storage root spend together, under its limits. */
export type RootSpending = {
  /** US dollars that are left and not reserved; null without a limit. @throws WorkflowError when the limits can't be read */
  left(): number | null;
  /** Reserves what a call may cost. @throws WorkflowError when the limits, or what was spent, can't be read */
  reserve(call: CallToPay): Promise<RootReservation>;
  /** Gives back what is reserved for a call and was not paid. */
  release(call: string): Promise<void>;
};
