import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { type EventType, eventsChannel, type WorkflowEvent } from "@uncaged/workflow";
import type { Spent } from "./usage.ts";

/**
 * One run of a role: what its agents and tools publish belongs to `stepID`, and what they spend is
 * gathered in `spent` for the step's meta. Found through the async context, so that an `AgentFn` needs
 * nothing but its two arguments.
 */
export type Call = {
  stepID: string;
  spent: Spent[];
  /** Tells this run apart from all others, in the events of its calls. */
  id?: string;
  /**
   * Asked before each limited call with what it may cost at most; throws when a limit would be passed.
   * So much is kept for the call until what it gives back is called: once the call is over, and what it
   * spent is in `spent`.
   */
  admit: (most: Spent) => () => void;
  /** Puts the price to what a call spent. */
  priced?: (spent: Spent) => Spent;
  /** What is left of the thread's limit, in US dollars; null when it has none. */
  left?: () => number | null;
  /** Whether there is a limit: then `admit` is asked, and a model for no answer without a bound. */
  isLimited?: boolean;
  /**
   * What an agent keeps for this role's later steps, as JSON (a session's id). It begins as the role's
   * last step left it, and is recorded in the step's `meta.agent`.
   */
  memory: Record<string, unknown>;
  /** Hears each event before the channel does, and says whether it keeps it for itself. */
  hear?: (event: WorkflowEvent) => boolean;
};

const calls = new AsyncLocalStorage<Call>();

/** Runs a role's work as one call. */
export const withCall = <T>(call: Call, fn: () => T): T => calls.run(call, fn);

/** The call that the running code belongs to; one of its own when there is none (a bare agent). */
export const currentCall = (): Call =>
  calls.getStore() ?? { stepID: "agent", spent: [], admit: () => nothing, memory: {} };

const nothing = (): void => undefined;

/** Publishes an event of the running call on the workflow's channel, unless the call keeps it. */
export function publish(type: EventType, payload: Record<string, unknown>): void {
  const { stepID, hear } = currentCall();
  const event: WorkflowEvent = { type, stepID, payload };
  if (hear?.(event)) return;
  channel(eventsChannel).publish(event);
}
