import {
  Agent,
  Runner,
  type RunResult,
  type RunState,
  setDefaultModelProvider,
  setTraceProcessors,
  type Session,
  type StreamedRunResult,
  type Tool,
} from "@openai/agents";
import type { StepCalls } from "../recorded-call/calls.ts";
import { currentCalls } from "../recorded-call/step.ts";
import { decide } from "./approvals.ts";
import { recordedModel, recordedProvider, ThreadProvider } from "./model.ts";
import { stepSession } from "./session.ts";
import { continued } from "./stream.ts";
import { recordTool } from "./tools.ts";

/*
 * Makes each run of the SDK in this process durable if the run belongs to a step. The SDK creates its own runners, for
 * `run` and for agents that are tools, so this module changes the SDK's classes instead of one runner. The SDK looks up
 * agents, tools and states by identity, so they are changed in place instead of copied.
 */

type Whole = RunResult<never, never>;
type Streamed = StreamedRunResult<never, never>;
type Input = string | readonly unknown[] | RunState<never, never>;
type Options = { stream?: boolean; signal?: AbortSignal; session?: Session };
type Run = (this: Runner, agent: unknown, input: Input, options?: Options) => Promise<unknown>;

type GetTools = (this: Agent, ...given: Parameters<Agent["getAllTools"]>) => Promise<Tool[]>;

const { run } = Runner.prototype as unknown as { run: Run };
const { getAllTools } = Agent.prototype as unknown as { getAllTools: GetTools };

const durableRun: Run = async function (agent, input, options = {}) {
  const calls = currentCalls();
  if (!calls) return await run.call(this, agent, input, options);
  const { config } = this;
  config.modelProvider = recordedProvider(config.modelProvider);
  if (typeof config.model === "object") config.model = recordedModel(config.model);
  const own = optionsIn(calls, options);
  const next = async <T extends Whole | Streamed>({ state, interruptions }: T) => {
    if (interruptions.length === 0 || !calls.ctx.questions) return null;
    await decide(calls, state, interruptions);
    return (await run.call(this, agent, state, own)) as T;
  };
  const first = await run.call(this, agent, input, own);
  if (own.stream) return continued(first as Streamed, next);
  let result = first as Whole;
  for (let later = await next(result); later !== null; later = await next(result)) result = later;
  return result;
};

/** Returns the options of a run in a step, with the session of the step and the signal of the thread. */
function optionsIn(calls: StepCalls, options: Options): Options {
  const { session } = options;
  const signal = calls.signalWith(options.signal);
  return {
    ...options,
    ...(session && { session: stepSession(calls, session) }),
    ...(signal && { signal }),
  };
}

Runner.prototype.run = durableRun as unknown as Runner["run"];

// A runner gets the tools of an agent before each call of its model.
Agent.prototype.getAllTools = async function (this: Agent, ...given) {
  const tools = await getAllTools.apply(this, given);
  for (const tool of tools) recordTool(tool);
  if (typeof this.model === "object") this.model = recordedModel(this.model);
  return tools;
};

setDefaultModelProvider(new ThreadProvider());

// By default, the SDK sends traces with prompts to OpenAI. An author can set trace processors after this import.
setTraceProcessors([]);
