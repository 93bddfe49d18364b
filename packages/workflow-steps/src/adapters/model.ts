import {
  isWorkflowError,
  type Step,
  type ThreadContext,
  type WorkflowOptions,
} from "@uncaged/workflow";
import { folderOf } from "@uncaged/workflow/interpreter";
import type {
  ContextOptions,
  Message,
  Models,
  ModelRequest,
  ToolContext,
  ToolRegistry,
} from "@uncaged/workflow-agents";
import {
  converse,
  type ModelCallbacks,
  namedTools,
  paid,
  type Toolbox,
} from "@uncaged/workflow-agents/interpreter";
import type { LLMAdapter, LLMParams, LLMTool } from "../adapter/adapter.ts";
import {
  badTools,
  mixedTools,
  noProvider,
  noProviderFor,
  noTools,
  noWorkingDirectory,
} from "./errors.ts";

/**
 * `options` are the options of `run`. `steps` are the thread's steps at its start or resume, and their spending counts
 * toward the budget. `tools` are the tools by name that a step may give its model. `maxTurns` limits the turns of a
 * model with tools (50). `context` sets when a long conversation is summarized; `false` disables summaries.
 */
export type ModelAdapterOptions = {
  models: readonly Models[];
  options?: Partial<WorkflowOptions>;
  steps?: readonly Step[];
  tools?: ToolRegistry;
  maxTurns?: number;
  context?: ContextOptions | false;
};

/**
 * Returns an `llm` adapter over the providers of `@uncaged/workflow-agents`. A step's `provider` selects the provider,
 * otherwise the model's name does. Runs the tools named by a step until the model ends its turn. Does not run calls of
 * tools that the step defines with an `input_schema`: these calls are the answer. `usage` follows the ledger:
 * `input_tokens` excludes cached tokens. `call` also throws `BUDGET_EXCEEDED` and `PRICE_UNKNOWN`.
 */
export function modelAdapter(given: ModelAdapterOptions): LLMAdapter {
  const { models, options = {}, steps = [], tools, maxTurns, context = {} } = given;
  const thread = threadOf(options, steps);
  const { env = {}, cwd, blobs } = options;
  return {
    async call(params, onToken, callbacks, around) {
      const { name, provider } = chosen(models, params);
      const signal = around?.signal ?? options.signal;
      const toolbox = await toolboxOf(params.tools, tools, { env, cwd, signal, blobs });
      const own = (await toolbox?.runner.definitions(toolbox.context)) ?? params.tools ?? [];
      const request = requestOf(params, own);
      const all: ModelCallbacks = callbacks ?? { onToken };
      const { onToolUse, onToolResult, ...deltas } = all;
      const streamed = params.stream === true ? deltas : {};
      const stepID = around?.stepID ?? "llm";
      // The step publishes the tools' events.
      const intercept = ({ type }: { type: string }) => type.startsWith("tool_");
      const { result, spending } = await paid(thread, { stepID, intercept }, () =>
        converse(provider, request, {
          ...{ env, signal, toolbox, maxTurns, context },
          step: { ...recordingIn(options), key: around?.key },
          callbacks: { ...streamed, onToolUse, onToolResult },
        }),
      );
      const { usage, cost } = spending;
      const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
      const total_tokens = input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
      const { id, model, text, thinking, finishReason } = result;
      const uses = result.toolUses.map(({ id: use, name: tool, input }) => ({
        id: use,
        name: tool,
        input,
      }));
      return {
        ...{ id, model, content: text, cost, provider: name },
        ...{ finish_reason: finishReason, stop_reason: finishReason },
        usage: { ...usage, total_tokens },
        ...(uses.length > 0 && { tool_calls: uses, tool_use: uses }),
        ...(thinking && { thinking }),
      };
    },
  };
}

const recordingIn = ({ journal, attempts, shared }: Partial<WorkflowOptions>) => ({
  ...{ journal, attempts, shared },
});

/** Returns one list of steps for all calls of a thread, so that their spending adds up. */
function threadOf(options: Partial<WorkflowOptions>, given: readonly Step[]): ThreadContext {
  const { threadId = "none", maxRounds = 0, env } = options;
  const steps = given.map((step) => ({ ...step }));
  const meta = { maxRounds, threadId };
  const start: ThreadContext["start"] = { role: "__start__", content: "", meta, timestamp: 0 };
  return { threadId, start, steps, cwd: folderOf(options), env, options };
}

function chosen(models: readonly Models[], { provider, model }: LLMParams): Models {
  const found =
    provider === undefined
      ? (models.find((one) => one.serves(model)) ?? models[0])
      : models.find(({ name }) => name === provider);
  if (found) return found;
  const names = models.map(({ name }) => name);
  throw provider === undefined ? noProviderFor(model, names) : noProvider(provider, names);
}

function requestOf(params: LLMParams, tools: readonly LLMTool[]): ModelRequest {
  const { model, system = "", messages, output_config: form, max_tokens, temperature } = params;
  const thinking = params.thinking as { type: "adaptive" | "disabled" } | Budget | undefined;
  return {
    ...{ model, system, temperature, maxTokens: max_tokens },
    messages: messages.map(messageOf),
    tools: tools.map(({ name, description = "", input_schema }) => {
      return { name, description, input_schema: input_schema as Record<string, unknown> };
    }),
    thinking:
      thinking?.type === "enabled" ? { budgetTokens: thinking.budget_tokens } : thinking?.type,
    ...(form?.type === "json_object" && { format: { type: form.type } }),
    ...(form?.type === "json_schema" &&
      form.schema && { format: { type: form.type, schema: form.schema } }),
  };
}

type Budget = { type: "enabled"; budget_tokens: number };

function messageOf({ role, content }: LLMParams["messages"][number]): Message {
  if (typeof content === "string") return { role, content };
  if (Array.isArray(content)) return { role, content: content as Message["content"] };
  return { role, content: JSON.stringify(content) };
}

/**
 * Returns the registry of the tools that a step names for its model; undefined if it names none. The step itself
 * defines a tool with an `input_schema`, which does not run here.
 */
async function toolboxOf(
  tools: readonly LLMTool[] | undefined,
  registry: ToolRegistry | undefined,
  {
    cwd,
    env,
    blobs,
    signal = new AbortController().signal,
  }: Partial<ToolContext> & Pick<ToolContext, "env">,
): Promise<Toolbox | undefined> {
  const named = (tools ?? []).filter(({ input_schema }) => input_schema === undefined);
  if (named.length === 0) return undefined;
  if (named.length !== tools?.length) throw mixedTools();
  if (!registry) throw noTools(String(named[0]?.name));
  if (cwd === undefined) throw noWorkingDirectory();
  const context = { cwd, env, signal, blobs };
  const names = named.map(({ name }) => name);
  const runner = await namedTools(registry, names, context).catch((error: unknown) => {
    throw isWorkflowError(error) && error.code === "TOOL_UNKNOWN" ? badTools(error.message) : error;
  });
  return { runner, context };
}
