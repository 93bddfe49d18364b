import {
  type AgentFn,
  isWorkflowError,
  type ThreadContext,
  WorkflowError,
} from "@uncaged/workflow";
import { publish } from "../run/run.ts";
import { addUsage, noUsage, type Usage } from "../run/usage.ts";
import type { ToolRunner } from "../tools/tools.ts";
import { converse, type Observer, type Toolbox } from "./converse.ts";
import { ProviderError } from "./error.ts";
import type { Block, ModelProvider, ModelRequest, Message } from "./provider.ts";

/** What every model agent can be told. */
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
  /** What the model is asked (the thread's prompt and the steps so far). */
  messages?: (ctx: ThreadContext) => Message[];
};

/** An agent that asks a provider's model, and publishes what happens as events of the running step. */
export function modelAgent(
  provider: ModelProvider,
  options: ModelOptions & Pick<ModelRequest, "thinking" | "effort">,
): AgentFn {
  const { maxTurns = 50, allowTruncated = false, messages = threadMessages } = options;
  return async (ctx, systemPrompt) => {
    const { env = {}, signal } = ctx;
    const report = new Report();
    try {
      const toolbox = options.tools && toolboxOf(options.tools, ctx);
      const { model, maxTokens, temperature, thinking, effort } = options;
      const request: ModelRequest = {
        model,
        maxTokens,
        temperature,
        thinking,
        effort,
        system: systemPrompt,
        messages: messages(ctx),
        tools: toolbox ? await toolbox.runner.definitions(toolbox.context) : [],
      };
      const bounds = { maxTurns, allowTruncated, toolbox };
      const around = { env, signal };
      const { text } = await converse(provider, request, around, report.observer, bounds);
      if (!text.trim())
        throw new ProviderError("LLM_EMPTY", `${provider.name} answered with no text`);
      report.done();
      return text;
    } catch (error) {
      if (!signal?.aborted) report.failed(error);
      throw error;
    }
  };
}

function toolboxOf(runner: ToolRunner, ctx: ThreadContext): Toolbox {
  const { cwd, env = {}, signal = new AbortController().signal } = ctx;
  if (cwd !== undefined) return { runner, context: { cwd, env, signal } };
  throw new WorkflowError({
    code: "NO_CWD",
    kind: "failed",
    message: "the thread has no working directory, and the agent's tools need one",
    hint: "start the thread with the command line, or give cwd in the options of run",
  });
}

/** Publishes one conversation's events. */
class Report {
  readonly #began = performance.now();
  #usage: Usage = noUsage;
  #model: string | null = null;
  #finishReason: string | null = null;
  #hasToolUse = false;

  readonly observer: Observer = {
    onToken: (delta) => publish("llm_token", { delta }),
    onThinking: (delta) => publish("llm_thinking", { delta }),
    onToolUse: ({ id, name, input }) => {
      this.#hasToolUse = true;
      publish("llm_tool_use", { tool_use_id: id, name, input });
    },
    onToolResult: ({ tool_use_id, content, is_error }) => {
      publish("llm_tool_result", { tool_use_id, content, is_error });
    },
    onAnswer: ({ usage, model, finishReason }) => {
      this.#usage = addUsage(this.#usage, usage);
      this.#model = model;
      this.#finishReason = finishReason;
    },
  };

  done(): void {
    const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = this.#usage;
    publish("llm_done", {
      latency_ms: this.#elapsed(),
      finish_reason: this.#finishReason,
      model: this.#model,
      usage: {
        ...this.#usage,
        total_tokens: input_tokens + output_tokens + cache_read_tokens + cache_write_tokens,
      },
      thinking_tokens: this.#usage.thinking_tokens,
      has_tool_use: this.#hasToolUse,
    });
  }

  failed(error: unknown): void {
    const known = isWorkflowError(error) ? error : null;
    publish("llm_error", {
      error: known?.message ?? "the agent failed",
      type: error instanceof ProviderError ? error.type : "unknown_error",
      code: known?.code ?? "INTERNAL",
      retryable: error instanceof ProviderError && error.retryable,
      latency_ms: this.#elapsed(),
    });
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#began);
  }
}

/**
 * What a thread is to a model that takes part in it: the user's prompt, and what each role said so
 * far, a block each, so that a later call of the same role begins with the same blocks (and finds them
 * in the provider's cache).
 */
export function threadMessages(ctx: ThreadContext): Message[] {
  const steps = ctx.steps.map(({ role, content }, at): Block => {
    return { type: "text", text: `<step number="${at + 1}" role="${role}">\n${content}\n</step>` };
  });
  const prompt = { type: "text", text: ctx.start.content.trim() || "(no prompt)" };
  return [{ role: "user", content: [prompt, ...steps] }];
}
