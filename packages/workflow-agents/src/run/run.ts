import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { channel } from "node:diagnostics_channel";
import {
  eventsChannel,
  isWorkflowError,
  type Step,
  type ThreadContext,
  type Usage,
  type WorkflowEvent,
} from "@uncaged/workflow";
import {
  noUsage,
  type AttemptSpec,
  openAttempt,
  type Path,
  totalTokens,
} from "@uncaged/workflow/interpreter";
import type { AnswerForm } from "./form.ts";
import type { Retrying } from "./retry.ts";
import { noCwd } from "./errors.ts";

/**
 * The spending of one model call. `cost` is in US dollars, or null if the model's price is unknown. `cacheWrites` is
 * the lifetime of the provider's cache entries, if it affects the price. `call` is the id of the call in the thread's
 * journal.
 */
export type Spent = {
  model: string;
  usage: Usage;
  cost: number | null;
  cacheWrites?: "1h";
  call?: string;
};

type AgentCount = { started: number; running: number };

/**
 * One run of a role. The events of the role's agents and tools have the run's `stepID`, and `spent` collects their
 * spending. The run is in the async context, so that an `AgentFn` needs only its arguments.
 */
export type RoleRun = {
  stepID: string;
  spent: Spent[];
  /**
   * Reserves the maximum cost of a call before the call starts. Waits while calls in flight may leave enough of the
   * limit. May reserve less output than requested. Throws if the call could exceed a limit.
   */
  reserve: Reserve;
  /** Adds the cost to a call's spending. */
  withCost?: (spent: Spent) => Spent;
  /**
   * Makes the thread wait until a person raises the limit for a call. Returns false if the thread cannot ask a person.
   */
  raise?: (next: Spent) => Promise<boolean>;
  /** Called for each addition to `spent`. */
  onSpent?: (spent: Spent) => void;
  /** Removes the counted spending of earlier executions on calls from which this execution continues. */
  takeOver?: (calls: readonly Spent[]) => void;
  /** Resolves when the journal has recorded the published calls. */
  settled?: () => Promise<void>;
  /** Returns the rest of the limit on costs in US dollars, or null without such a limit. */
  remaining?: () => number | null;
  /** Whether there is a limit. If so, each model call must set a maximum for its answer. */
  isLimited?: boolean;
  /** Whether there is a limit on costs. */
  limitsCost?: boolean;
  /**
   * The memory of the agents for later steps of the role, as JSON. Initially, the memory in the role's last step with
   * the same path.
   */
  memory: Record<string, unknown>;
  /** The index in `ctx.steps` of the step that has the initial memory. */
  remembered?: number;
  path?: Path;
  agents?: AgentCount;
  /** The required form of the role's answer, if the role requires one. */
  form?: AnswerForm;
  /** The chain of roles that call each other as tools, from the outermost role to this role. */
  roles?: readonly { name: string; role: unknown }[];
  /** The number of further levels of roles that may be called as tools. */
  levels?: number;
  /** The retry policy of the role's model calls, if it sets one. */
  retrying?: Retrying;
  /** Called for each event before its publication. If it returns true, the event is not published. */
  intercept?: (event: WorkflowEvent) => boolean;
};

/**
 * Options of a reservation. `least` is the minimum number of output tokens to reserve (default: all), and `waits`
 * whether the call waits for calls in flight (default: true). `atRoot` replaces the amount to reserve from the storage
 * root's limits, for a command whose cost is known only at its end.
 */
export type ReserveOptions = {
  least?: number;
  waits?: boolean;
  atRoot?: number;
  signal?: AbortSignal;
};
export type Reservation = { outputTokens: number; release: () => void };
type Reserve = (most: Spent, options?: ReserveOptions) => Promise<Reservation>;

const unlimited: Reserve = async ({ usage }) => ({
  outputTokens: usage.output_tokens,
  release: () => undefined,
});

const runs = new AsyncLocalStorage<RoleRun>();

/** Runs work in a run. A run without `reserve` does not have a limit. */
export const withRun = <T>(
  run: Omit<RoleRun, "reserve"> & Partial<Pick<RoleRun, "reserve">>,
  fn: () => T,
): T => runs.run(run.reserve ? (run as RoleRun) : { ...run, reserve: unlimited }, fn);

/** Returns the run of the current code, or a new run outside a role. */
export const currentRun = (): RoleRun =>
  runs.getStore() ?? { stepID: "agent", spent: [], reserve: unlimited, memory: {} };

/** Returns the enclosing run, or null. */
export const outerRun = (): RoleRun | null => runs.getStore() ?? null;

/** Counts spending toward the current run. */
export function spend(...spent: readonly Spent[]): void {
  const run = currentRun();
  run.spent.push(...spent);
  for (const one of spent) run.onSpent?.(one);
}

/** Takes over the spending of earlier executions from which the current run continues. */
export function takeOver(spent: readonly Spent[]): void {
  currentRun().takeOver?.(spent);
  spend(...spent);
}

/** Runs work in the current run, and returns its result and spending. */
export async function spending<T>(work: () => Promise<T>): Promise<{ result: T; spent: Spent[] }> {
  const run = currentRun();
  const spent: Spent[] = [];
  const onSpent = (one: Spent): void => {
    spent.push(one);
    run.onSpent?.(one);
  };
  const result = runs.getStore() ? await runs.run({ ...run, onSpent }, work) : await work();
  return { result, spent };
}

/** Publishes an event of the current run, unless the run intercepts the event. */
export function publish(type: WorkflowEvent["type"], payload: Record<string, unknown>): void {
  const { stepID, intercept } = currentRun();
  const event: WorkflowEvent = { type, stepID, payload };
  if (intercept?.(event)) return;
  channel(eventsChannel).publish(event);
}

/** The counts of agents outside a run, by the attempt in which they run. */
const counts = new Map<string, AgentCount>();

/**
 * Runs an agent or a role in the current attempt, or in a child attempt if other work of the attempt is running.
 * `index` is the number of agents that started in the attempt before.
 */
export async function inAttempt<T>(
  ctx: ThreadContext,
  work: (at: { index: number; isChild: boolean }) => Promise<T>,
): Promise<T> {
  const id = ctx.attempts?.current ?? "";
  const own = runs.getStore()?.agents;
  const count = own ?? counts.get(id) ?? { started: 0, running: 0 };
  if (!own && id !== "") counts.set(id, count);
  const index = count.started++;
  count.running += 1;
  // After this await, all work that the role starts synchronously is counted.
  await Promise.resolve();
  try {
    if (count.running === 1 || id === "") return await work({ index, isChild: false });
    const spec = { role: ctx.role ?? "agent" };
    return await inOwnAttempt(ctx, spec, () => work({ index, isChild: true }));
  } finally {
    count.running -= 1;
    if (!own && count.running === 0) counts.delete(id);
  }
}

/** Runs a part of a step's work in a child of the current attempt. */
export async function inOwnAttempt<T>(
  ctx: ThreadContext,
  spec: AttemptSpec,
  work: () => Promise<T>,
): Promise<T> {
  const attempt = openAttempt(ctx, spec);
  try {
    const result = await attempt.run(work);
    attempt.end("committed");
    return result;
  } catch (error) {
    attempt.end(ctx.signal?.aborted ? "cancelled" : "failed", error);
    throw error;
  }
}

/**
 * Publishes the usage of one model call from the start of the call on, so that the log has the usage even if the worker
 * is killed. The call's `state` is `open`, `whole` (complete) or `broken` (failed before its usage was complete).
 */
export class Meter {
  readonly #id: string;
  readonly #run = currentRun();
  #last: Spent;

  /** @param call The id of the reservation for the call. */
  constructor(model: string, cacheWrites?: "1h", call: string = crypto.randomUUID()) {
    this.#id = call;
    this.#last = { model, usage: noUsage, cost: null, ...(cacheWrites && { cacheWrites }) };
    publish("llm_start", { call_id: this.#id, model });
  }

  /** The id of the call in the journal. */
  get call(): string {
    return this.#id;
  }

  /** Resolves when the journal has recorded the start of the call. The call must not be made earlier. */
  async begun(): Promise<void> {
    await this.#run.settled?.();
  }

  update({ model, usage }: Omit<Spent, "cost">): void {
    this.#publish({ ...this.#last, model, usage }, "open");
  }

  end(spent: Spent): void {
    this.#publish(spent, "whole");
  }

  /** Reports that the call did not use tokens, because it was not made or was declined. */
  free(): void {
    this.#publish({ ...this.#last, usage: noUsage, cost: 0 }, "whole");
  }

  /** Reports that the call ended without its full usage. */
  breakOff(): void {
    this.#publish(this.#last, "broken");
  }

  #publish(spent: Spent, state: "open" | "whole" | "broken"): void {
    this.#last = spent;
    const { model, usage, cost } = this.#run.withCost?.(spent) ?? spent;
    publish("llm_usage", { call_id: this.#id, model, usage, cost_usd: cost, state });
  }
}

/** The result of an agent's work. By default, the usage is zero, and the answer ended its turn. */
type AgentEnd = {
  usage?: Usage;
  model?: string | null;
  finishReason?: string;
  hasToolUse?: boolean;
};

/** Publishes the end of an agent's work: `llm_done` with the result, or `llm_error`. */
export class AgentReport {
  readonly #startedAt = performance.now();

  done({ usage = noUsage, model = null, finishReason = "end_turn", hasToolUse }: AgentEnd): void {
    publish("llm_done", {
      latency_ms: this.#elapsed(),
      finish_reason: finishReason,
      model,
      usage: { ...usage, total_tokens: totalTokens(usage) },
      thinking_tokens: usage.thinking_tokens,
      has_tool_use: hasToolUse ?? false,
    });
  }

  /** Reports a failure. `fallback` replaces the message of an error that is not a `WorkflowError`. */
  failed(error: unknown, fallback: string): void {
    const known = isWorkflowError(error) ? error : null;
    const { type = "unknown_error", retryable = false } = (known ?? {}) as {
      type?: string;
      retryable?: boolean;
    };
    publish("llm_error", {
      error: known?.message ?? fallback,
      type: known?.code === "COMMAND_TIMEOUT" ? "timeout" : type,
      code: known?.code ?? "INTERNAL",
      retryable,
      latency_ms: this.#elapsed(),
    });
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

/**
 * Returns the thread's directory.
 * @throws WorkflowError `NO_CWD` if the thread has no directory. `who` is a clause with the reason, such as "a command
 *   needs one".
 */
export function cwdOf({ cwd }: ThreadContext, who: string): string {
  if (cwd !== undefined) return cwd;
  throw noCwd(who);
}

/** Returns a digest by which later code detects that a text changed. */
export const digest = (text: string): string =>
  createHash("sha256").update(text.toWellFormed()).digest("base64url").slice(0, 16);

/** Returns a step as text for an agent. */
export const stepText = ({ role, content }: Step, number: number): string =>
  `<step number="${number}" role="${role}">\n${content}\n</step>`;
