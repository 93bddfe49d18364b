import type { Step, ThreadContext, WorkflowOptions } from "@uncaged/workflow";
import {
  llmAdapter,
  type LLMParams as AgentParams,
  type LLMProvider,
  type Message,
  paid,
  type ToolRegistry,
} from "@uncaged/workflow-agents";
import type { LLMAdapter, LLMParams } from "../adapter/adapter.ts";
import { LLMError } from "../adapter/error.ts";
import { toolsOf } from "./model-tools.ts";

/** A provider's models: the name that a step calls the provider by, and which models are its own. */
export type Models = {
  name: string;
  provider: LLMProvider;
  serves: (model: string) => boolean;
};

/**
 * `options` are those of `run`: `env` with the keys, `signal`, `cwd`, and the limits `maxCost` and
 * `maxTokens`. `steps` are those that the thread had when it was started or taken up, whose spending
 * counts. `tools` are those that a step may let its model use, by name; `maxTurns` is how many answers a
 * model that uses them may need (50).
 */
export type ModelAdapterOptions = {
  models: readonly Models[];
  options?: Partial<WorkflowOptions>;
  steps?: readonly Step[];
  tools?: ToolRegistry;
  maxTurns?: number;
};

/**
 * The adapter `llm` over providers of `@uncaged/workflow-agents`. A step's `provider` chooses among
 * them, else its model does. Tools that a step names are run until the model ends its turn; tools that
 * it defines with an `input_schema` are its own business: their calls are the answer.
 *
 *     const llm = modelAdapter({ models: [anthropicModels()], options });
 *
 * The result's `usage` is counted as the ledger does: `input_tokens` without those of the provider's
 * cache, which are in `cache_read_tokens` and `cache_write_tokens`.
 *
 * @throws from `call` LLMError of the agents; WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`.
 */
export function modelAdapter(given: ModelAdapterOptions): LLMAdapter {
  const { models, options = {}, steps = [], tools, maxTurns } = given;
  const thread = threadOf(options, steps);
  const { env = {}, cwd } = options;
  return {
    async call(params, onToken, callbacks, around) {
      const { name, provider } = chosen(models, params);
      const signal = around?.signal ?? options.signal;
      const runner = await toolsOf(params.tools, tools, { env, cwd, signal });
      const llm = llmAdapter(provider, { env, cwd, signal, tools: runner, maxTurns });
      const stepID = around?.stepID ?? "llm";
      // The step's own events tell of a model's tools.
      const hear = ({ type }: { type: string }) => type.startsWith("tool_");
      const { result, spending } = await paid(thread, { stepID, hear }, () =>
        llm.call(asked(params, runner !== undefined), onToken, callbacks),
      );
      const { usage, cost } = spending;
      const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
      const total_tokens = input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
      return { ...result, usage: { ...usage, total_tokens }, cost, provider: name };
    },
  };
}

/** One list of steps for all calls of a thread: by it their spending is counted together. */
function threadOf(options: Partial<WorkflowOptions>, given: readonly Step[]): ThreadContext {
  const { threadId = "none", maxRounds = 0, env } = options;
  const steps = given.map((step) => ({ ...step }));
  const meta = { maxRounds, threadId };
  return {
    threadId,
    start: { role: "__start__", content: "", meta, timestamp: 0 },
    steps,
    env,
    options,
  };
}

function chosen(models: readonly Models[], { provider, model }: LLMParams): Models {
  const found =
    provider === undefined
      ? (models.find((one) => one.serves(model)) ?? models[0])
      : models.find(({ name }) => name === provider);
  if (found) return found;
  const names = models.map(({ name }) => name).join(", ") || "none";
  const message = `there is no provider ${provider ?? `for the model ${model}`}; there are: ${names}`;
  throw new LLMError("bad_request", message, { code: "PROVIDER_UNKNOWN" });
}

function asked(params: LLMParams, runsTools: boolean): AgentParams {
  const { model, system, messages, stream, tools, output_config, max_tokens, temperature } = params;
  const own = runsTools ? [] : (tools ?? []);
  return {
    model,
    ...(system !== undefined && { system }),
    messages: messages.map(messageOf),
    stream: stream === true,
    tools: own.map(({ name, description = "", input_schema }) => {
      return { name, description, input_schema: input_schema as Record<string, unknown> };
    }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(params.thinking !== undefined && { thinking: params.thinking as AgentParams["thinking"] }),
    ...(output_config &&
      output_config.type !== "text" && {
        output_config: { type: output_config.type, schema: output_config.schema },
      }),
  };
}

function messageOf({ role, content }: LLMParams["messages"][number]): Message {
  if (typeof content === "string") return { role, content };
  if (Array.isArray(content)) return { role, content: content as Message["content"] };
  return { role, content: JSON.stringify(content) };
}
