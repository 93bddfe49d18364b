import type { AgentFn, ThreadContext } from "@uncaged/workflow";
import { ownPrices, withCost } from "../ledger/prices.ts";
import { withoutInstruction } from "../run/form.ts";
import {
  AgentReport,
  currentRun,
  cwdOf,
  inAttempt,
  outerRun,
  publish,
  type RoleRun,
  withRun,
} from "../run/run.ts";
import { isPart, type Part, readPart } from "../content/part.ts";
import type { ToolRunner } from "../tools/tools.ts";
import { compactAtOf, type ContextOptions } from "./compact.ts";
import { messagesBy, type SeenSteps } from "./history.ts";
import { converse, type ModelCallbacks } from "./converse.ts";
import {
  type Block,
  blocksOf,
  type HostedTool,
  type Message,
  type ModelProvider,
  type ModelRequest,
} from "./provider.ts";
import { emptyAnswer } from "./errors.ts";

/** The options of every model agent. */
export type ModelOptions = {
  /** The model's name, as the provider writes it. */
  model: string;
  /** Maximum tokens of one answer, thinking included. */
  maxTokens?: number;
  /** The sampling temperature. Sent only if set, because newer models refuse it. */
  temperature?: number;
  /** The tools that the model may call. */
  tools?: ToolRunner;
  /** Tools that the provider runs, in the provider's format: `{ type: "web_search_20260209", name: "web_search" }`. */
  hostedTools?: readonly HostedTool[];
  /** Maximum number of turns within which the model must finish (50). */
  maxTurns?: number;
  /** Whether to accept text that was cut off at `maxTokens` (false). */
  allowTruncated?: boolean;
  /** The condition for summarising a conversation that fills the model's context window. `false`: never. */
  context?: ContextOptions | false;
  /** The thread's steps that the model gets after the prompt (`all` by default). */
  history?: SeenSteps;
  /** Messages that replace the prompt and the steps. */
  messages?: (ctx: ThreadContext) => Message[];
  /** Pictures and documents from `image` and `file`, which the model gets before the prompt. */
  files?: (ctx: ThreadContext) => readonly Part[] | Promise<readonly Part[]>;
};

/**
 * Returns an agent for any provider, as `anthropicAgent` and `openaiAgent` do for their providers. The agent calls the
 * model, and runs the tools that the model calls, until the model ends its turn.
 *
 *     const offline = modelAgent(scriptedProvider({ "You plan": ["1. read"] }), { model: "scripted" });
 *
 * The agent throws a {@link ProviderError} if a model call fails.
 */
export function modelAgent(
  provider: ModelProvider,
  options: ModelOptions & Pick<ModelRequest, "thinking" | "effort">,
): AgentFn {
  const { tools: runner, maxTurns, allowTruncated, history, context = {}, ...asked } = options;
  // Throws for invalid options before a thread starts.
  if (context) compactAtOf(asked.model, context);
  const messages = messagesBy(history, options.messages);
  const answer: AgentFn = async (ctx, systemPrompt) => {
    const { env = {}, signal, blobs } = ctx;
    const report = new AgentReport();
    try {
      const toolbox = runner && {
        runner,
        context: {
          ...{ env, blobs, thread: ctx, cwd: cwdOf(ctx, "the agent's tools need one") },
          signal: signal ?? new AbortController().signal,
        },
      };
      const { model, maxTokens, temperature, thinking, effort, hostedTools } = asked;
      const { form: own } = currentRun();
      const plain = own ? withoutInstruction(systemPrompt, own) : null;
      const form = plain === null ? undefined : own;
      const isAlone = plain !== null && own?.isAlone;
      const request: ModelRequest = {
        ...{ model, maxTokens, temperature, thinking, effort, hostedTools },
        system: isAlone ? plain : systemPrompt,
        messages: await messagesOf(messages(ctx), options.files, ctx),
        tools: toolbox ? await runner.definitions(toolbox.context) : [],
        ...(isAlone && { format: { type: "json_schema", schema: own.schema } }),
      };
      const bounds = { maxTurns, allowTruncated, context, toolbox, form, step: ctx };
      const end = await converse(provider, request, { env, signal, callbacks, ...bounds });
      // A tool call also ends the conversation if the agent has no tools.
      if (!end.text.trim()) throw emptyAnswer(provider.name);
      report.done(end);
      if (form) form.settled = end.text;
      return end.text;
    } catch (error) {
      if (!signal?.aborted) report.failed(error, "the agent failed");
      throw error;
    }
  };
  return (ctx, systemPrompt) =>
    inAttempt(ctx, () => withRun(runOf(ctx), () => answer(ctx, systemPrompt)));
}

/** Returns the role's run, or outside a role a run that only computes costs. */
function runOf(ctx: ThreadContext): RoleRun {
  const role = outerRun();
  if (role) return role;
  const prices = ownPrices(ctx);
  const stepID = ctx.role ?? "agent";
  return { ...currentRun(), stepID, withCost: (spent) => withCost(spent, prices) };
}

const callbacks: ModelCallbacks = {
  onToken: (delta) => publish("llm_token", { delta }),
  onThinking: (delta) => publish("llm_thinking", { delta }),
  onToolUse: ({ id, name, input }) => publish("llm_tool_use", { tool_use_id: id, name, input }),
  onToolResult: (result) => publish("llm_tool_result", result),
};

/** Returns the first messages of a conversation, with the agent's files and their bytes. */
async function messagesOf(
  messages: readonly Message[],
  files: ModelOptions["files"],
  ctx: ThreadContext,
): Promise<Message[]> {
  const added = (await files?.(ctx)) ?? [];
  const [first, ...rest] = messages;
  const before: Message | undefined = first && {
    ...first,
    content: [...added, ...blocksOf(first)],
  };
  const all = added.length > 0 && before ? [before, ...rest] : messages;
  const read = all.map(async (message): Promise<Message> => {
    if (typeof message.content === "string" || !message.content.some(isPart)) return message;
    const blocks = message.content.map(async (block): Promise<Block> => {
      return isPart(block) ? await readPart(block, ctx.cwd) : block;
    });
    return { ...message, content: await Promise.all(blocks) };
  });
  return await Promise.all(read);
}
