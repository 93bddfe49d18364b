import { channel } from "node:diagnostics_channel";
import { eventsChannel, type ThreadContext, type WorkflowEvent } from "@uncaged/workflow";
import { type RoleRun, type Spent, withRun } from "../src/run/run.ts";

// Bun drops a channel's subscribers when the channel has no reference.
const eventsOn = channel(eventsChannel);

/** The events, spending and result of an agent's run. */
export type Observed = { events: WorkflowEvent[]; spent: Spent[]; text: string; error: unknown };

/** Runs an agent as a role does, and collects its events. Never throws. Fills `result` while the agent runs. */
export async function observed(
  work: () => Promise<string>,
  call: Partial<RoleRun> = {},
  result: Observed = { events: [], spent: [], text: "", error: null },
): Promise<Observed> {
  const stepID = crypto.randomUUID();
  const { spent } = result;
  const listen = (message: unknown) => {
    const event = message as WorkflowEvent;
    if (event.stepID === stepID) result.events.push(event);
  };
  eventsOn.subscribe(listen);
  try {
    const own = { stepID, spent, memory: {}, ...call };
    result.text = await withRun(own, work);
  } catch (error) {
    result.error = error;
  } finally {
    eventsOn.unsubscribe(listen);
  }
  return result;
}

const forLedger = ["llm_start", "llm_usage", "session"];

/** Returns the published events without the events that are only for the ledger or later steps. */
export const agentEventsOf = ({ events }: Observed): WorkflowEvent[] =>
  events.filter(({ type }) => !forLedger.includes(type));

/** Returns the types of a run's agent events in order, without repetitions. */
export const typesOf = (run: Observed): string[] =>
  agentEventsOf(run)
    .map(({ type }) => type)
    .filter((type, at, all) => type !== all[at - 1]);

/** Returns the payload of the only event of a type. */
export function payloadOf({ events }: Observed, type: string): Record<string, unknown> {
  const [event, second] = events.filter((one) => one.type === type);
  if (!event || second) throw new Error(`the run does not have exactly one ${type}`);
  return event.payload;
}

/** Returns the thread context of a role. */
export function threadOf(more: Partial<ThreadContext> = {}): ThreadContext {
  const threadId = "01JTEST0000000000000000000";
  const meta = { maxRounds: 10, threadId };
  const start = { role: "__start__" as const, content: "fix the sum", meta, timestamp: 0 };
  return { threadId, start, steps: [], cwd: "/", env: {}, ...more };
}

/** Returns the error of a rejected promise, or null. */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** The sessions in an agent's memory. */
export type Sessions = { sessions?: { command: string; session: string; steps: number }[] };
