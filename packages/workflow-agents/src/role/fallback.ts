import {
  type AgentFn,
  isWorkflowError,
  type ThreadContext,
  type WorkflowError,
} from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import {
  currentRun,
  digest,
  inAttempt,
  outerRun,
  publish,
  type RoleRun,
  withRun,
} from "../run/run.ts";
import { badFallbackOn, noFallbackAgents } from "./errors.ts";

/**
 * Options of {@link fallback}. `on` selects the errors after which the next agent takes over, by code or type, or by a
 * function. By default, these are errors after which another agent may succeed: a retryable error that remains after
 * the retries, a missing model, an account that cannot pay, or a command that is missing, failed or timed out.
 */
export type FallbackOptions = {
  on?: readonly string[] | ((error: WorkflowError) => boolean);
};

const unavailable: ReadonlySet<string> = new Set([
  "LLM_NO_MODEL",
  "LLM_QUOTA",
  "LLM_BILLING",
  "LLM_REDIRECTED",
  "LLM_BAD_ANSWER",
  "COMMAND_MISSING",
  "COMMAND_FAILED",
  "COMMAND_TIMEOUT",
]);

/**
 * Returns an agent that runs the first of several agents, and the next agent if an agent fails. The next agent gets the
 * thread without the failed agent's output. After a crash, the last agent continues if it recorded anything.
 *
 *     agent: fallback([anthropicAgent({ model: "claude-opus-5-5" }), openaiAgent({ model: "gpt-5.2" })])
 *
 * @throws WorkflowError `BAD_FALLBACK` at definition. The agent throws the error of the last agent that failed.
 */
export function fallback(agents: readonly AgentFn[], { on }: FallbackOptions = {}): AgentFn {
  check(agents, on);
  return (ctx, systemPrompt) =>
    inAttempt(ctx, async ({ index }) => {
      const place = new FallbackPlace(ctx, index, systemPrompt);
      const first = await place.first(agents.length);
      // The agents before the starting agent come last.
      const order = agents.map((_, at) => (first + at) % agents.length);
      for (const [nth, at] of order.entries()) {
        const next = order[nth + 1];
        try {
          return await asAgent(at, index, () => (agents[at] as AgentFn)(ctx, systemPrompt));
        } catch (error) {
          if (next === undefined || ctx.signal?.aborted || !isTakenOver(error, on)) throw error;
          const { code, message } = error;
          publish("llm_fallback", { failed: at + 1, next: next + 1, code, error: message });
          await place.choose(next);
        }
      }
      throw new Error("no agent found");
    });
}

function check(agents: readonly AgentFn[], on: FallbackOptions["on"]): void {
  if (
    !Array.isArray(agents) ||
    agents.length === 0 ||
    agents.some((one) => typeof one !== "function")
  ) {
    throw noFallbackAgents();
  }
  const isList = Array.isArray(on) && on.every((one) => typeof one === "string");
  if (on === undefined || typeof on === "function" || isList) return;
  throw badFallbackOn();
}

function isTakenOver(error: unknown, on: FallbackOptions["on"]): error is WorkflowError {
  if (!isWorkflowError(error)) return false;
  if (typeof on === "function") return on(error);
  const {
    code,
    type = "",
    retryable = false,
  } = error as WorkflowError & {
    type?: string;
    retryable?: boolean;
  };
  return on ? on.includes(code) || on.includes(type) : retryable || unavailable.has(code);
}

/** Runs an agent with the memory of the same agent in earlier steps, so that it finds only its own sessions. */
async function asAgent<T>(at: number, index: number, work: () => Promise<T>): Promise<T> {
  const run = currentRun();
  const others = isObject(run.memory.fallback) ? run.memory.fallback : {};
  const known = others[String(at)];
  const memory = at === 0 ? run.memory : isObject(known) ? known : {};
  const result = await withRun({ ...run, memory, agents: { started: index, running: 0 } }, work);
  if (at > 0 && Object.keys(memory).length > 0) {
    run.memory.fallback = { ...others, [String(at)]: memory };
  }
  return result;
}

/** The chosen agents of a role's run, with which a repeated request of the run starts. */
const chosen = new WeakMap<RoleRun, Map<string, number>>();

/** One call of a fallback in a step. Records the chosen agent in the journal. */
class FallbackPlace {
  readonly #ctx: ThreadContext;
  readonly #id: string;

  constructor(ctx: ThreadContext, index: number, systemPrompt: string) {
    this.#ctx = ctx;
    this.#id = `${index}.${digest(JSON.stringify([systemPrompt, ctx.start.content]))}`;
  }

  /**
   * Returns the index of the starting agent: the last agent of an earlier execution if it recorded anything, otherwise
   * 0.
   */
  async first(count: number): Promise<number> {
    const { journal, key } = this.#ctx;
    const run = outerRun();
    const known = run && chosen.get(run)?.get(this.#id);
    if (known !== undefined && known !== null) return known;
    if (!journal || key === undefined) return 0;
    let [agent, hasBegun] = [0, false];
    for (const { entry } of await journal.read(key)) {
      if (!isObject(entry)) continue;
      if (entry.kind !== "fallback") hasBegun = true;
      else if (entry.fallback === this.#id) [agent, hasBegun] = [Number(entry.agent), false];
    }
    if (hasBegun && agent < count) return agent;
    // The next records are the first agent's.
    if (agent > 0) await this.#record(0);
    return 0;
  }

  async choose(agent: number): Promise<void> {
    const run = outerRun();
    if (run) chosen.set(run, new Map([...(chosen.get(run) ?? []), [this.#id, agent]]));
    await this.#record(agent);
  }

  async #record(agent: number): Promise<void> {
    const { journal, key } = this.#ctx;
    if (!journal || key === undefined) return;
    await journal.record(key, { kind: "fallback", fallback: this.#id, agent });
  }
}
