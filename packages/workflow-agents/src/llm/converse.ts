import { isWorkflowError, type WorkflowError } from "@uncaged/workflow";
import { currentRun, Meter } from "../run/run.ts";
import { noUsage } from "../run/usage.ts";
import type { ToolAnswer, ToolContext, ToolRunner } from "../tools/tools.ts";
import { ProviderError, type PartialUsage } from "./error.ts";
import {
  type Block,
  blocksOf,
  type ModelAnswer,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type Message,
  type Surroundings,
  type ToolResultBlock,
  type ToolUse,
} from "./provider.ts";

/** What is told while a conversation goes on. */
export type Observer = ModelSink & {
  onToolUse: (use: ToolUse) => void;
  onToolResult: (result: ToolResultBlock) => void;
  onAnswer: (answer: ModelAnswer) => void;
};

/** The bounds of a conversation. */
export type Bounds = { maxTurns: number; allowTruncated: boolean };

/** A conversation's end: the last answer, and the text that it comes to. */
export type Conversed = { answer: ModelAnswer; text: string };

/**
 * Asks a model until it ends its turn: runs the tools that it asks for and gives it their results, and
 * lets it go on after a pause. Without a toolbox an answer that asks for tools is the last.
 *
 * The text is that of the last turn; of the last one that had any, when a model that worked with
 * tools ends without a word.
 * @throws ProviderError what the provider throws; `LLM_TRUNCATED`, `LLM_TOOL_TRUNCATED`, `LLM_REFUSED`,
 *   `LLM_CONTEXT_FULL`, `LLM_EMPTY`, `LLM_TOO_MANY_TURNS`. The signal's reason when it is aborted.
 */
export async function converse(
  provider: ModelProvider,
  request: ModelRequest,
  around: Surroundings,
  observer: Observer,
  { toolbox, ...bounds }: Bounds & { toolbox?: Toolbox },
): Promise<Conversed> {
  const messages: Message[] = [...request.messages];
  let text = "";
  for (let turn = 1; turn <= bounds.maxTurns; turn += 1) {
    const answer = await ask(provider, { ...request, messages }, around, observer);
    const paused = messages.at(-1)?.role === "assistant";
    text = answer.text ? (paused ? text : "") + answer.text : text;
    judge(provider.name, answer, bounds);
    messages.push({ role: "assistant", content: answer.blocks });
    if (answer.toolUses.length > 0) {
      answer.toolUses.forEach(observer.onToolUse);
      if (!toolbox) return { answer, text };
      const results = await runTools(answer.toolUses, toolbox, observer.onToolResult);
      messages.push({ role: "user", content: results.map(resultBlock) });
    } else if (answer.stop !== "paused") {
      if (!text.trim())
        throw new ProviderError("LLM_EMPTY", `${provider.name} answered with no text`);
      return { answer, text };
    }
  }
  const turns = `${bounds.maxTurns} turns`;
  throw new ProviderError("LLM_TOO_MANY_TURNS", `the model had not ended its work after ${turns}`);
}

async function ask(
  provider: ModelProvider,
  request: ModelRequest,
  around: Surroundings,
  observer: Observer,
): Promise<ModelAnswer> {
  around.signal?.throwIfAborted();
  const { spent } = currentRun();
  const reserved = await reserveCall(provider, request, around);
  const meter = new Meter(request.model);
  const sink = { ...observer, onUsage: (told: PartialUsage) => meter.update(told) };
  try {
    const answer = await provider.answer(reserved.request, sink, around);
    const all = { model: answer.model, usage: answer.usage, cost: null };
    spent.push(all);
    meter.end(all);
    observer.onAnswer(answer);
    return answer;
  } catch (error) {
    // What broke off is paid for too, as far as it was counted.
    if (error instanceof ProviderError && error.told) spent.push({ ...error.told, cost: null });
    if (error instanceof ProviderError && error.isFree) meter.free();
    else meter.breakOff();
    throw error;
  } finally {
    reserved.release();
  }
}

function judge(name: string, answer: ModelAnswer, { allowTruncated }: Bounds): void {
  const { stop, toolUses, finishReason, detail } = answer;
  const [use] = toolUses;
  if (stop === "refused") {
    throw new ProviderError(
      "LLM_REFUSED",
      `${name} refused to answer${detail ? `: ${detail}` : ""}`,
    );
  }
  if (stop === "context_full") {
    throw new ProviderError(
      "LLM_CONTEXT_FULL",
      `the model's context was full before it had answered`,
    );
  }
  if (stop === "truncated" && use) {
    const cut = `${name} cut the call of tool ${use.name} off at the token limit`;
    throw new ProviderError("LLM_TOOL_TRUNCATED", cut);
  }
  if (stop === "truncated" && !allowTruncated) {
    throw new ProviderError("LLM_TRUNCATED", `${name} cut the answer off at the token limit`);
  }
  if (stop === "unknown") {
    throw new ProviderError("LLM_UNKNOWN", `${name} ended its answer with ${finishReason}`);
  }
}

const resultBlock = (result: ToolResultBlock): Block => ({ type: "tool_result", ...result });

const outputIfUnbounded = 16_384;

/** A request with a bound of its answer. `release` gives back what is kept for it. */
export type Reserved = { request: ModelRequest; release: () => void };

/**
 * Has the thread's limits judge a call before it is made. Its input is counted by the service only when
 * its bytes alone would be too much.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`; what `countInput` throws.
 */
export async function reserveCall(
  provider: ModelProvider,
  request: ModelRequest,
  around: Surroundings,
): Promise<Reserved> {
  const { reserve, isLimited = false } = currentRun();
  if (!isLimited) return { request, release: () => undefined };
  const { model, maxTokens = outputIfUnbounded } = request;
  const bounded = { ...request, maxTokens };
  const reserveFor = (input: number): (() => void) => {
    const usage = { ...noUsage, input_tokens: input, output_tokens: maxTokens };
    return reserve({ model, usage, cost: null });
  };
  const judged = reservedBy(() => reserveFor(inputBound(request)));
  const refusal = judged instanceof Error ? judged : null;
  if (judged instanceof Error) {
    if (!provider.countInput) throw judged;
  } else {
    if (isText(request) || !provider.countInput) return { request: bounded, release: judged };
    judged();
  }
  const count = await counted(provider.countInput(bounded, around), refusal);
  return { request: bounded, release: reserveFor(count) };
}

// A service of the same protocol may not count: then its refusal stands.
async function counted(counting: Promise<number>, refusal: Error | null): Promise<number> {
  return await counting.catch((error: unknown) => {
    const cannot = error instanceof ProviderError && [404, 405, 501].includes(error.status ?? 0);
    throw cannot && refusal !== null ? refusal : error;
  });
}

/** What an reserved call gives back; why it is not reserved, where that depends on how much it may spend. */
function reservedBy(attempt: () => () => void): (() => void) | WorkflowError {
  try {
    return attempt();
  } catch (error) {
    if (isExceeded(error)) return error;
    throw error;
  }
}

const isExceeded = (error: unknown): error is WorkflowError =>
  isWorkflowError(error) && error.code === "BUDGET_EXCEEDED";

// What a service adds of its own: how tools and forms are used, and the marks around each message.
const addedToRequest = 1024;
const addedToPart = 16;

/** The most tokens that text can be: no token is shorter than a byte of its UTF-8. */
export function inputBound({ system, tools, messages, format = { type: "none" } }: Input): number {
  const bytes = Buffer.byteLength(JSON.stringify([system, tools, messages, format]));
  return bytes + addedToRequest + addedToPart * (messages.length + tools.length);
}

type Input = Pick<ModelRequest, "system" | "tools" | "messages"> & { format?: object };

const texts = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Whether a request is text alone: a picture or a document has tokens that its bytes don't tell. */
const isText = ({ messages }: ModelRequest): boolean =>
  messages.flatMap(blocksOf).every(isTextBlock);

const isTextBlock = ({ type, content }: Block): boolean =>
  texts.has(type) || (type === "tool_result" && typeof content === "string");

/** The tools of a conversation, and where they run. */
export type Toolbox = { runner: ToolRunner; context: ToolContext };

/**
 * Runs all tools that an answer asks for, side by side, and gives their results in its order;
 * `onResult` has each when it is there. A call that can't be run is answered with an error, for the
 * model to read.
 * @throws the signal's reason, at once when it is aborted: a tool that ignores it holds nobody up.
 */
export async function runTools(
  uses: readonly ToolUse[],
  { runner, context }: Toolbox,
  onResult: (result: ToolResultBlock) => void,
): Promise<ToolResultBlock[]> {
  const { signal } = context;
  signal.throwIfAborted();
  const runs = uses.map(async (use) => {
    const { content, is_error } = await runOne(use, runner, context);
    const result = { tool_use_id: use.id, content, is_error };
    if (!signal.aborted) onResult(result);
    return result;
  });
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([Promise.all(runs), stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function runOne(use: ToolUse, runner: ToolRunner, context: ToolContext): Promise<ToolAnswer> {
  const { name, input, broken } = use;
  if (broken) return { content: `${name} was not run: ${broken}`, is_error: true };
  return await runner.run(name, input, context);
}
