import { AsyncLocalStorage } from "node:async_hooks";
import type { ThreadContext } from "@uncaged/workflow";
import { type JournalEntry, maskOf } from "@uncaged/workflow/interpreter";
import {
  digest,
  outerRun,
  publish,
  type RoleRun,
  type Spent,
  takeOver,
  withRun,
} from "../run/run.ts";
import { decoded, encoded } from "./value.ts";

type Kind = "model" | "tool" | "approval" | "session";

/**
 * A journal entry about one call of a step. `call` is the id of the call within the step, `execution` the execution of
 * the step that recorded the entry, and `since` the number of results that this execution had when the call began. The
 * kind `again` means that the execution got the result of an earlier execution, and `failed` that the call ended
 * without a result.
 */
type Entry = { call: string; execution: string; since: number } & (
  | { kind: "done"; value: unknown; isLast?: true; paid?: readonly Spent[] }
  | { kind: "begun" | "again" | "failed" }
);

type Done = Pick<Extract<Entry, { kind: "done" }>, "value" | "isLast" | "paid">;
type Known = { done: ReadonlyMap<string, Done>; begun: ReadonlySet<string> };

/**
 * A result to record. `isLast` means that the result ends a conversation. If the execution then fails without a later
 * call, the next execution requests the result again.
 */
export type CallResult = { value: unknown; isLast?: boolean; paid?: readonly Spent[] };

/** A call in progress. It ends with `done` or `failed`. */
export type RecordedCall = {
  /** An idempotency key, which is the same when the call is repeated after a crash. */
  readonly key: string;
  /** The result of an earlier execution, or null if the call must be made. */
  readonly found: { value: unknown } | null;
  /** Whether an earlier execution recorded the start of this call but not its end. */
  readonly wasBegun: boolean;
  /** Records the start of a call that must not be repeated. */
  begun(): Promise<void>;
  /** Records the result. The result is durable when the promise resolves. */
  done(result: CallResult): Promise<void>;
  /** Ends the call without a result. The next equal call has the same id. */
  failed(): Promise<void>;
  /**
   * Runs a function as part of the call, in the async context in which the call began. The spending belongs to the role
   * that runs the code, or to the step if the code does not run in a role.
   */
  within<T>(work: () => T): T;
  /** Resolves when no other call of the step is running, except waiting calls and calls that contain this call. */
  alone(): Promise<void>;
};

/**
 * A running call: its id, the calling call, and the number of calls within it that wait in {@link RecordedCall.alone}.
 */
type Running = { id: string; parent: Running | null; waiting: number };

const inside = new AsyncLocalStorage<Running>();

/**
 * The recorded calls of one execution of a step. A call is identified by its content, so a call with another prompt or
 * another input is a new call. Equal calls are distinguished by the calling call and by their order within it.
 */
export class StepCalls {
  readonly ctx: ThreadContext;
  readonly #run: RoleRun;
  readonly #execution: string;
  readonly #mask: (text: string) => string;
  #known: Promise<Known> | null = null;
  /** Indexes in use among equal calls. */
  readonly #indexes = new Map<string, Set<number>>();
  readonly #running = new Set<Running>();
  /** The signals of programs that called models. */
  readonly #programs = new Set<AbortSignal>();
  #waiters: (() => void)[] = [];
  #delivered = 0;
  #isResumed = false;

  constructor(ctx: ThreadContext, run: RoleRun) {
    this.ctx = ctx;
    this.#run = run;
    this.#execution = ctx.attempts?.outermost ?? crypto.randomUUID();
    this.#mask = maskOf(ctx.env ?? {});
  }

  /** Returns a signal that is aborted with the step, and with the given signal. */
  signalWith(given: AbortSignal | undefined): AbortSignal | undefined {
    const { signal } = this.ctx;
    return given && signal ? AbortSignal.any([given, signal]) : (given ?? signal);
  }

  /**
   * Returns the signal of {@link signalWith} for a model call, and records the program's signal for {@link isStopped}.
   */
  signalOfModel(given: AbortSignal | undefined): AbortSignal | undefined {
    if (given) this.#programs.add(given);
    return this.signalWith(given);
  }

  /**
   * Returns whether a tool call with this signal was stopped with its step or its program. A timeout of the tool itself
   * ends only the tool, and has another abort reason.
   */
  isStopped(signal: AbortSignal | undefined): boolean {
    if (this.ctx.signal?.aborted) return true;
    if (!signal?.aborted) return false;
    const { reason } = signal as { reason: { name?: unknown } | undefined };
    if (reason?.name !== "TimeoutError") return true;
    return [...this.#programs].some((one) => one.aborted && one.reason === reason);
  }

  /** Whether the step continues from results of an earlier execution. Secrets are masked in these results. */
  get isResumed(): boolean {
    return this.#isResumed;
  }

  /**
   * Begins a call, or finds its recorded result. `content` identifies the call.
   *
   * @throws the reason of the step's signal if the signal is aborted. Otherwise a program that ignores the signal would
   *   make paid calls while its worker shuts down.
   */
  async open(kind: Kind, content: unknown): Promise<RecordedCall> {
    this.ctx.signal?.throwIfAborted();
    // Secrets are masked in recorded answers, which the next prompt contains, so they are masked in the content too.
    const parent = inside.getStore() ?? null;
    const sum = digest(this.#mask(JSON.stringify(encoded([parent?.id ?? "", content]))));
    const { index, release } = this.#take(`${kind} ${sum}`);
    const call = `${kind} ${sum}.${index}`;
    const since = this.#delivered;
    const running: Running = { id: call, parent, waiting: 0 };
    const run = outerRun() ?? this.#run;
    const inContext = AsyncLocalStorage.snapshot();
    const { done, begun } = await (this.#known ??= this.#read());
    const record = (entry: Omit<Entry, "call" | "execution" | "since">, taken?: string[]) =>
      inContext(() =>
        this.#record({ ...entry, call, execution: this.#execution, since } as Entry, taken),
      );
    const found = done.get(call);
    if (found) {
      const { paid = [] } = found;
      const taken = paid.flatMap(({ call: id }) => id ?? []);
      await record({ kind: "again" }, taken);
      withRun(run, () => takeOver(paid));
      this.#delivered += 1;
    } else this.#running.add(running);
    const end = (): void => {
      this.#running.delete(running);
      this.#wake();
    };
    return {
      key: `${this.ctx.key ?? ""}:${call}`,
      found: found ? { value: decoded(found.value) } : null,
      wasBegun: begun.has(call),
      begun: () => record({ kind: "begun" }),
      done: async ({ value, isLast, paid = [] }) => {
        const more = { ...(isLast && { isLast }), ...(paid.length > 0 && { paid }) };
        await record({ kind: "done", value: encoded(value), ...more } as Entry);
        this.#delivered += 1;
        end();
      },
      failed: async () => {
        end();
        release();
        await record({ kind: "failed" });
      },
      within: (work) => inContext(() => withRun(run, () => inside.run(running, work))),
      alone: () => this.#alone(running),
    };
  }

  /** Reserves the lowest free index among equal calls. */
  #take(id: string): { index: number; release: () => void } {
    const used = this.#indexes.get(id) ?? new Set<number>();
    this.#indexes.set(id, used);
    let index = 0;
    while (used.has(index)) index += 1;
    used.add(index);
    return { index, release: () => used.delete(index) };
  }

  async #read(): Promise<Known> {
    const { journal, key } = this.ctx;
    const entries = journal && key !== undefined ? await journal.read(key) : [];
    const known = knownFrom(entries);
    const count = (kind: Kind) =>
      [...known.done.keys()].filter((call) => call.startsWith(`${kind} `)).length;
    const calls = { turns: count("model"), tool_calls: count("tool") };
    this.#isResumed = known.done.size > 0;
    if (this.#isResumed) withRun(this.#run, () => publish("llm_resumed", calls));
    return known;
  }

  async #record(entry: Entry, taken?: string[]): Promise<void> {
    const { journal, key } = this.ctx;
    if (journal && key !== undefined) await journal.record(key, entry, taken);
  }

  async #alone(running: Running): Promise<void> {
    const waiting: Running[] = [];
    for (let one: Running | null = running; one; one = one.parent) waiting.push(one);
    for (const one of waiting) one.waiting += 1;
    await new Promise<void>((resolve) => {
      this.#waiters.push(resolve);
      this.#wake();
    });
    for (const one of waiting) one.waiting -= 1;
  }

  /** Wakes the waiting calls, in their order, when no other call is running. */
  #wake(): void {
    if ([...this.#running].some((one) => one.waiting === 0)) return;
    for (const wake of this.#waiters.splice(0)) wake();
  }
}

/** Returns the results from which the next execution continues, and the calls that began. */
function knownFrom(entries: readonly JournalEntry[]): Known {
  const done = new Map<string, Done>();
  const begun = new Set<string>();
  let execution: Entry[] = [];
  let hasFailed = false;
  const end = (): void => {
    if (hasFailed) for (const call of unused(execution, done)) done.delete(call);
    execution = [];
    hasFailed = false;
  };
  for (const { entry: given, failed } of entries) {
    const entry = given as Partial<Entry> | null;
    if (typeof entry?.call !== "string") continue;
    const whole = entry as Entry;
    if (execution.some((one) => one.execution !== whole.execution)) end();
    execution.push(whole);
    hasFailed ||= failed;
    if (whole.kind === "done") done.set(whole.call, whole);
    else if (whole.kind === "begun") begun.add(whole.call);
  }
  end();
  return { done, begun };
}

/**
 * Returns the last answers of a failed execution after which it did not make a call. Such an answer may be the reason
 * for the failure, so it must be requested again.
 */
function unused(execution: readonly Entry[], done: ReadonlyMap<string, Done>): string[] {
  const delivered = execution.filter(({ kind }) => kind === "done" || kind === "again");
  const last = Math.max(...execution.map(({ since }) => since));
  return delivered.slice(last).flatMap(({ call }) => (done.get(call)?.isLast ? [call] : []));
}
