import { addUsage, type AgentFn, type ThreadContext } from "@uncaged/workflow";
import { ownPrices, withCost } from "../ledger/prices.ts";
import { failure } from "../run/error.ts";
import {
  AgentReport,
  currentRun,
  inAttempt,
  outerRun,
  publish,
  type RoleRun,
  withRun,
} from "../run/run.ts";
import type { ToolRunner } from "../tools/tools.ts";
import { converse, emptyAnswer, type Observer, type Toolbox } from "./converse.ts";
import type { Block, Message, ModelProvider, ModelRequest } from "./provider.ts";

/** The options of every model agent. */
export type ModelOptions = {
  /** The model's name, as the provider writes it. */
  model: string;
  /** The most tokens of one answer, thinking included. */
  maxTokens?: number;
  /** Sent only when given: some models no longer take it. */
  temperature?: number;
  /** The tools that the model may call. */
  tools?: ToolRunner;
  /** How many answers the model may need to end its work (50). */
  maxTurns?: number;
  /** Whether a text that was cut off at `maxTokens` is an answer (false). */
  allowTruncated?: boolean;
  /** What the model gets (the thread's prompt and the steps so far). */
  messages?: (ctx: ThreadContext) => Message[];
};

/** An agent that asks a provider's model, and publishes what happens as events of the running step. */
export function modelAgent(
  provider: ModelProvider,
  options: ModelOptions & Pick<ModelRequest, "thinking" | "effort">,
): AgentFn {
  const { maxTurns = 50, allowTruncated = false, messages = threadMessages } = options;
  const answer: AgentFn = async (ctx, systemPrompt) => {
    const { env = {}, signal } = ctx;
    const report = new AgentReport();
    try {
      const toolbox = options.tools && toolboxOf(options.tools, ctx);
      const { model, maxTokens, temperature, thinking, effort } = options;
      const request: ModelRequest = {
        ...{ model, maxTokens, temperature, thinking, effort },
        system: systemPrompt,
        messages: messages(ctx),
        tools: toolbox ? await toolbox.runner.definitions(toolbox.context) : [],
      };
      const bounds = { maxTurns, allowTruncated, toolbox };
      const observer = observerOf(report);
      const { text } = await converse(provider, request, { env, signal }, observer, bounds);
      // A tool call of a model that was given no tools ends the conversation, too.
      if (!text.trim()) throw emptyAnswer(provider.name);
      report.done();
      return text;
    } catch (error) {
      if (!signal?.aborted) report.failed(error, "the agent failed");
      throw error;
    }
  };
  return (ctx, systemPrompt) =>
    inAttempt(ctx, () => withRun(runOf(ctx), () => answer(ctx, systemPrompt)));
}

/** The role's run; for an agent that is called outside one, a run that only knows prices. */
function runOf(ctx: ThreadContext): RoleRun {
  const role = outerRun();
  if (role) return role;
  const prices = ownPrices(ctx);
  const stepID = ctx.role ?? "agent";
  return { ...currentRun(), stepID, withCost: (spent) => withCost(spent, prices) };
}

function toolboxOf(runner: ToolRunner, ctx: ThreadContext): Toolbox {
  const { cwd, env = {}, signal = new AbortController().signal } = ctx;
  if (cwd !== undefined) return { runner, context: { cwd, env, signal } };
  const message = "the thread has no working directory, and the agent's tools need one";
  const hint = "start the thread with the command line, or give cwd in the options of run";
  throw failure("NO_CWD", message, hint);
}

/** Publishes a conversation's events. */
const observerOf = (report: AgentReport): Observer => ({
  onToken: (delta) => publish("llm_token", { delta }),
  onThinking: (delta) => publish("llm_thinking", { delta }),
  onToolUse: ({ id, name, input }) => {
    report.hasToolUse = true;
    publish("llm_tool_use", { tool_use_id: id, name, input });
  },
  onToolResult: ({ tool_use_id, content, is_error }) =>
    publish("llm_tool_result", { tool_use_id, content, is_error }),
  onAnswer: ({ usage, model, finishReason }) =>
    Object.assign(report, { usage: addUsage(report.usage, usage), model, finishReason }),
});

/**
 * A thread for a model that takes part in it: the user's prompt, and what each role wrote so far, a block
 * each, so that a later call of the same role starts with the same blocks (and finds them in the
 * provider's cache).
 */
export function threadMessages(ctx: ThreadContext): Message[] {
  const steps = ctx.steps.map(({ role, content }, at): Block => {
    return { type: "text", text: `<step number="${at + 1}" role="${role}">\n${content}\n</step>` };
  });
  const prompt = { type: "text", text: ctx.start.content.trim() || "(no prompt)" };
  return [{ role: "user", content: [prompt, ...steps] }];
}
