/** Limits on the spending of all threads of a storage root, in US dollars per UTC day and UTC month. */
export type RootLimits = { costPerDay?: number; costPerMonth?: number };

/**
 * A call that may cost up to `most` US dollars, and is worth making with at least `least` US dollars. `call` is the
 * `call_id` of its `llm_start`.
 */
export type CallToPay = { call: string; least: number; most: number };

/**
 * Result of a reservation. `reserved`: `amount` US dollars are reserved. `busy`: calls in flight have reserved the
 * remainder and may release enough. `spent`: a limit, set in `file`, is used up until a time in milliseconds since the
 * epoch.
 */
export type RootReservation =
  | { kind: "reserved"; amount: number }
  | { kind: "busy" }
  | ({ kind: "spent"; file: string } & SpentLimit);

/** A used-up limit: `amount` and `spent` are US dollars, `until` is the time of its reset. */
export type SpentLimit = {
  limit: keyof RootLimits;
  amount: number;
  spent: number;
  until: number;
};

/** The spending of all threads of a storage root, and the reservations under its limits. */
export type RootSpending = {
  /**
   * Returns the US dollars that are neither spent nor reserved; null without a limit.
   * @throws WorkflowError when the limits can't be read
   */
  left(): number | null;
  /** Reserves the cost of a call. @throws WorkflowError when the limits or the spending can't be read */
  reserve(call: CallToPay): Promise<RootReservation>;
  /** Releases the unpaid part of a call's reservation. */
  release(call: string): Promise<void>;
};
