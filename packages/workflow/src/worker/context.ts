import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { eventsChannel } from "../events/event.ts";
import type { InfoLog } from "../thread-log/info.ts";

/** What belongs to one thread and is found through its async context. */
export type ThreadContext = {
  threadId: string;
  info: InfoLog;
  /** How many of the thread's steps are committed. */
  committed: () => number;
  fail: (thrown: unknown) => void;
};

// Bun collects a channel that nobody holds, with its subscribers: the module holds it.
const events = channel(eventsChannel);

const contexts = new AsyncLocalStorage<ThreadContext>();

/** Runs a function in a thread's async context. */
export const runInContext = <T>(context: ThreadContext, fn: () => T): T =>
  contexts.run(context, fn);

/** The thread whose code is running, or null. */
export const currentContext = (): ThreadContext | null => contexts.getStore() ?? null;

/** Brings what workflows publish on the events' channel into the debug log of their thread. */
export function recordEvents(): void {
  events.subscribe((message) => {
    try {
      record(message);
    } catch {
      // A stranger's object may throw when it is looked at, and an event must not fail its thread.
    }
  });
}

function record(message: unknown): void {
  const context = currentContext();
  if (!context || typeof message !== "object" || message === null) return;
  const { type, stepID, payload } = message as Record<string, unknown>;
  if (typeof type !== "string") return;
  const id = typeof stepID === "string" ? stepID : null;
  const step = context.committed() + 1;
  context.info.event("QK4DX8TM", type, id, payload, step);
}
