import { currentCall } from "../call/call.ts";
import { Meter } from "../call/meter.ts";
import { admitCall } from "./admit.ts";
import { LLMError, type Told } from "./error.ts";
import type { Block, Message, ToolResultBlock } from "./message.ts";
import type {
  LLMAnswer,
  LLMProvider,
  LLMRequest,
  LLMSink,
  Surroundings,
  ToolUse,
} from "./provider.ts";
import { runTools, type Toolbox } from "./tool-round.ts";

/** What is told while a conversation goes on. */
export type Observer = LLMSink & {
  onToolUse: (use: ToolUse) => void;
  onToolResult: (result: ToolResultBlock) => void;
  onAnswer: (answer: LLMAnswer) => void;
};

/** The bounds of a conversation. */
export type Bounds = { maxTurns: number; allowTruncated: boolean };

/** A conversation's end: the last answer, and the text that it comes to. */
export type Conversed = { answer: LLMAnswer; text: string };

/**
 * Asks a model until it ends its turn: runs the tools that it asks for and gives it their results, and
 * lets it go on after a pause. Without a toolbox an answer that asks for tools is the last.
 *
 * The text is that of the last turn; of the last one that had any, when a model that worked with
 * tools ends without a word.
 * @throws LLMError what the provider throws; `LLM_TRUNCATED`, `LLM_TOOL_TRUNCATED`, `LLM_REFUSED`,
 *   `LLM_CONTEXT_FULL`, `LLM_EMPTY`, `LLM_TOO_MANY_TURNS`. The signal's reason when it is aborted.
 */
export async function converse(
  provider: LLMProvider,
  request: LLMRequest,
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
      if (!text.trim()) throw new LLMError("LLM_EMPTY", `${provider.name} answered with no text`);
      return { answer, text };
    }
  }
  const turns = `${bounds.maxTurns} turns`;
  throw new LLMError("LLM_TOO_MANY_TURNS", `the model had not ended its work after ${turns}`);
}

async function ask(
  provider: LLMProvider,
  request: LLMRequest,
  around: Surroundings,
  observer: Observer,
): Promise<LLMAnswer> {
  around.signal?.throwIfAborted();
  const { spent } = currentCall();
  const admitted = await admitCall(provider, request, around);
  const meter = new Meter(request.model);
  const sink = { ...observer, onUsage: (told: Told) => meter.tell(told) };
  try {
    const answer = await provider.answer(admitted.request, sink, around);
    const all = { model: answer.model, usage: answer.usage, cost: null };
    spent.push(all);
    meter.end(all);
    observer.onAnswer(answer);
    return answer;
  } catch (error) {
    // What broke off is paid for too, as far as it was counted.
    if (error instanceof LLMError && error.told) spent.push({ ...error.told, cost: null });
    if (error instanceof LLMError && error.isFree) meter.free();
    else meter.breakOff();
    throw error;
  } finally {
    admitted.release();
  }
}

function judge(name: string, answer: LLMAnswer, { allowTruncated }: Bounds): void {
  const { stop, toolUses, finishReason, detail } = answer;
  const [use] = toolUses;
  if (stop === "refused") {
    throw new LLMError("LLM_REFUSED", `${name} refused to answer${detail ? `: ${detail}` : ""}`);
  }
  if (stop === "context_full") {
    throw new LLMError("LLM_CONTEXT_FULL", `the model's context was full before it had answered`);
  }
  if (stop === "truncated" && use) {
    const cut = `${name} cut the call of tool ${use.name} off at the token limit`;
    throw new LLMError("LLM_TOOL_TRUNCATED", cut);
  }
  if (stop === "truncated" && !allowTruncated) {
    throw new LLMError("LLM_TRUNCATED", `${name} cut the answer off at the token limit`);
  }
  if (stop === "unknown") {
    throw new LLMError("LLM_UNKNOWN", `${name} ended its answer with ${finishReason}`);
  }
}

const resultBlock = (result: ToolResultBlock): Block => ({ type: "tool_result", ...result });
