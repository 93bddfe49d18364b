import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { roleSchemasOf } from "../bundle/role-schemas.ts";
import type { StackMapper } from "../bundle/stack.ts";
import { attemptTime } from "../contract/attempt.ts";
import type { Bundle } from "../contract/contract.ts";
import { eventsChannel } from "../contract/event.ts";
import { isRecord } from "../contract/show.ts";
import type { AttemptParts } from "../engine/attempts.ts";
import { DescriptorCheck } from "../engine/descriptor-check.ts";
import { eventTag, type InfoLog } from "./info.ts";
import { system } from "../system/system.ts";
import { type JournalParts, ThreadJournal } from "./journal.ts";
import type { RunningRole } from "./running-role.ts";

/** The thread of the running code, found through its async context. */
export type ThreadContext = {
  threadId: string;
  info: InfoLog;
  /** Records the cost of model calls. */
  paid: ThreadJournal["event"];
  /** The attempt that the code runs in; null outside of attempts that the workflow opened. */
  attempt: string | null;
  /** The outermost attempt around this attempt; null outside of attempts that the workflow opened. */
  outermost: string | null;
  running: RunningRole;
  /** The number of committed steps, and the attempt of the running `next()`. */
  engine: () => { steps: number; attempt: string | null };
  fail: (thrown: unknown) => void;
  surroundings: Surroundings;
};

/** The results of `process.env` and `process.cwd()` in a thread, which may change its own copy of the environment. */
export type Surroundings = { env: Readonly<Record<string, string>>; cwd: string | undefined };

// Keep a reference: Bun garbage-collects an unreferenced channel with its subscribers.
const events = channel(eventsChannel);

const contexts = new AsyncLocalStorage<ThreadContext>();

export const runInContext = <T>(context: ThreadContext, fn: () => T): T =>
  contexts.run(context, fn);

/** Returns the thread whose code is running, or null. */
export const currentContext = (): ThreadContext | null => contexts.getStore() ?? null;

/** Returns the attempt of the running code, or null. */
function currentAttempt(): string | null {
  const context = contexts.getStore();
  return context ? (context.attempt ?? context.engine().attempt) : null;
}

function outermostAttempt(): string | null {
  const context = contexts.getStore();
  return context ? (context.outermost ?? context.engine().attempt) : null;
}

/** The parts of a thread's engine that use its async context and debug log. */
export const partsIn = (
  context: ThreadContext,
  bundle: Bundle,
  stacks: StackMapper,
  journal: ThreadJournal,
) => ({
  attempts: attemptsIn(context, stacks, journal),
  check: checkIn(context, bundle),
  scope: <T>(fn: () => T): T => runInContext(context, fn),
  note: (tag: string, content: string) => context.info.log(tag, content),
});

/** Records attempts in a thread's debug log, before their events. */
function attemptsIn(
  context: ThreadContext,
  stacks: StackMapper,
  journal: ThreadJournal,
): AttemptParts {
  const { info, running } = context;
  const nextStep = () => context.engine().steps + 1;
  return {
    onStart: (id, payload) => {
      running.started(id, payload.role);
      journal.started(id, payload, nextStep());
      info.start(id, payload, nextStep);
    },
    onEnd: (attempt, payload) => {
      running.ended(attempt);
      journal.ended(attempt, payload.outcome);
      const type = "attempt_end";
      info.event({ tag: eventTag, type, stepID: null, payload, step: nextStep(), attempt });
    },
    rewrite: (error, role) => stacks.rewrite(error, role),
    takeBack: (id) => {
      running.ended(id);
      journal.over(id);
      return info.takeBack(id);
    },
    enter: (id, fn) => {
      const outermost = currentContext()?.outermost ?? id;
      return runInContext({ ...context, attempt: id, outermost }, fn);
    },
    current: currentAttempt,
    outermost: outermostAttempt,
    now: () => system.clock.now(),
  };
}

/** The journal of a thread. Entries belong to the attempt that records them. */
export const journalOf = (
  { running }: ThreadContext,
  parts: Omit<JournalParts, "isOpen" | "attempt">,
): ThreadJournal =>
  new ThreadJournal({
    ...parts,
    isOpen: (attempt) => running.isOpen(attempt),
    attempt: currentAttempt,
  });

/** Logs a warning in a thread's debug log for each step that breaks the bundle's descriptor. */
const checkIn = ({ info, engine }: ThreadContext, bundle: Bundle): DescriptorCheck =>
  new DescriptorCheck(roleSchemasOf(bundle), (attempt, payload) =>
    info.event({
      tag: eventTag,
      type: "step_warning",
      stepID: null,
      payload,
      step: engine().steps,
      ...(attempt !== undefined && { attempt }),
    }),
  );

let isRecording = false;

/** Records events that workflows publish in their thread's debug log. A second call does nothing. */
export function recordEvents(): void {
  if (isRecording) return;
  isRecording = true;
  events.subscribe((message) => {
    try {
      record(message);
    } catch {
      // Reading a foreign object may throw, but an event must not fail its thread.
    }
  });
}

function record(message: unknown): void {
  const context = currentContext();
  if (!context || !isRecord(message)) return;
  const { type, stepID, payload, attempt } = message;
  if (typeof type !== "string" || reservedTypes.has(type)) return;
  const isNamed = typeof attempt === "string" && attemptTime(attempt) !== null;
  const id = isNamed ? attempt : currentAttempt();
  const event = {
    type,
    stepID: typeof stepID === "string" ? stepID : null,
    step: context.engine().steps + 1,
    ...(id !== null && { attempt: id }),
  };
  context.running.event(event.stepID, event.step);
  if (paidTypes.has(type)) context.paid({ ...event, payload: isRecord(payload) ? payload : {} });
  context.info.event({ tag: eventTag, ...event, payload });
}

const paidTypes: ReadonlySet<string> = new Set(["llm_start", "llm_usage"]);

// Types reserved for this and earlier engines, so that a bundle can't fake them, for example the end of an attempt.
const reservedTypes: ReadonlySet<string> = new Set([
  "worker_start",
  "attempt_start",
  "attempt_end",
  "journal",
]);

/** The environments of threads. Threads started from one shell share one copy. */
export class SharedEnv {
  readonly #own: Readonly<Record<string, string>>;
  #last: { text: string; env: Readonly<Record<string, string>> } | null = null;

  /** Adds `own` to each environment. */
  constructor(own: Readonly<Record<string, string>>) {
    this.#own = own;
  }

  with(given: Record<string, string>): Readonly<Record<string, string>> {
    const env = { ...given, ...this.#own };
    const text = JSON.stringify(env);
    if (this.#last?.text !== text) this.#last = { text, env: Object.freeze(env) };
    return this.#last.env;
  }
}
