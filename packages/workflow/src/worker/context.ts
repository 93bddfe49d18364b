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

/** What the running code belongs to: its thread, found through its async context. */
export type ThreadContext = {
  threadId: string;
  info: InfoLog;
  /** Takes what calls of models cost. */
  paid: ThreadJournal["event"];
  /** The attempt that the code runs in; null outside of those that the workflow has opened. */
  attempt: string | null;
  /** The attempt without a parent that this one is within; null outside of those that the workflow has opened. */
  outermost: string | null;
  /** The attempts that have begun and not ended. */
  open: Set<string>;
  /** How many of the thread's steps are committed, and the attempt of the running `next()`. */
  engine: () => { steps: number; attempt: string | null };
  fail: (thrown: unknown) => void;
  surroundings: Surroundings;
};

/** What `process.env` and `process.cwd()` answer in a thread. The thread may change its own copy of the environment. */
export type Surroundings = { env: Readonly<Record<string, string>>; cwd: string | undefined };

// Bun collects a channel without a reference, with its subscribers: the module holds it.
const events = channel(eventsChannel);

const contexts = new AsyncLocalStorage<ThreadContext>();

export const runInContext = <T>(context: ThreadContext, fn: () => T): T =>
  contexts.run(context, fn);

/** The thread whose code is running, or null. */
export const currentContext = (): ThreadContext | null => contexts.getStore() ?? null;

/** The attempt that the running code belongs to; null when it belongs to none. */
function currentAttempt(): string | null {
  const context = contexts.getStore();
  return context ? (context.attempt ?? context.engine().attempt) : null;
}

function outermostAttempt(): string | null {
  const context = contexts.getStore();
  return context ? (context.outermost ?? context.engine().attempt) : null;
}

/** What the engine of a thread needs of its async context and its debug log. */
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

/** How the attempts of a thread are recorded: in its debug log, before what they publish. */
function attemptsIn(
  context: ThreadContext,
  stacks: StackMapper,
  journal: ThreadJournal,
): AttemptParts {
  const { info, open } = context;
  const nextStep = () => context.engine().steps + 1;
  return {
    onStart: (id, payload) => {
      open.add(id);
      journal.started(id, payload, nextStep());
      info.start(id, payload, nextStep);
    },
    onEnd: (attempt, payload) => {
      open.delete(attempt);
      journal.ended(attempt, payload.outcome);
      const type = "attempt_end";
      info.event({ tag: eventTag, type, stepID: null, payload, step: nextStep(), attempt });
    },
    rewrite: (error, role) => stacks.rewrite(error, role),
    takeBack: (id) => {
      open.delete(id);
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

/** The journal of a thread: what is recorded is of the attempt that records it. */
export const journalOf = (
  { open }: ThreadContext,
  parts: Omit<JournalParts, "isOpen" | "attempt">,
): ThreadJournal =>
  new ThreadJournal({
    ...parts,
    isOpen: (attempt) => open.has(attempt),
    attempt: currentAttempt,
  });

/** Warns in the debug log of a thread of steps that break the descriptor of its bundle. */
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

/** Records what workflows publish on the events' channel in the debug log of their thread. A second call does nothing. */
export function recordEvents(): void {
  if (isRecording) return;
  isRecording = true;
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
  if (paidTypes.has(type)) context.paid({ ...event, payload: isRecord(payload) ? payload : {} });
  context.info.event({ tag: eventTag, ...event, payload });
}

const paidTypes: ReadonlySet<string> = new Set(["llm_start", "llm_usage"]);

// What the engine alone records, and what it did in earlier versions: a bundle can't end an attempt, or a worker, by an event.
const reservedTypes: ReadonlySet<string> = new Set([
  "worker_start",
  "attempt_start",
  "attempt_end",
  "journal",
]);

/** The environments of threads: those that one shell starts share one copy. */
export class SharedEnv {
  readonly #own: Readonly<Record<string, string>>;
  #last: { text: string; env: Readonly<Record<string, string>> } | null = null;

  /** `own` is in the environment of each. */
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
