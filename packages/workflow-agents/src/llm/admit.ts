import { isWorkflowError, type WorkflowError } from "@uncaged/workflow";
import { currentCall } from "../call/call.ts";
import { noUsage } from "../call/usage.ts";
import { LLMError } from "./error.ts";
import { type Block, blocksOf } from "./message.ts";
import type { LLMProvider, LLMRequest, Surroundings } from "./provider.ts";

const outputIfUnbounded = 16_384;

/** A request with a bound of its answer. `release` gives back what is kept for it. */
export type Admitted = { request: LLMRequest; release: () => void };

/**
 * Has the thread's limits judge a call before it is made. Its input is counted by the service only when
 * its bytes alone would be too much.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`; what `countInput` throws.
 */
export async function admitCall(
  provider: LLMProvider,
  request: LLMRequest,
  around: Surroundings,
): Promise<Admitted> {
  const { admit, isLimited = false } = currentCall();
  if (!isLimited) return { request, release: () => undefined };
  const { model, maxTokens = outputIfUnbounded } = request;
  const bounded = { ...request, maxTokens };
  const judge = (input: number): (() => void) => {
    const usage = { ...noUsage, input_tokens: input, output_tokens: maxTokens };
    return admit({ model, usage, cost: null });
  };
  const judged = judgedBy(() => judge(mostInput(request)));
  const refusal = judged instanceof Error ? judged : null;
  if (judged instanceof Error) {
    if (!provider.countInput) throw judged;
  } else {
    if (isText(request) || !provider.countInput) return { request: bounded, release: judged };
    judged();
  }
  const count = await counted(provider.countInput(bounded, around), refusal);
  return { request: bounded, release: judge(count) };
}

// A service of the same protocol may not count: then its refusal stands.
async function counted(counting: Promise<number>, refusal: Error | null): Promise<number> {
  return await counting.catch((error: unknown) => {
    const cannot = error instanceof LLMError && [404, 405, 501].includes(error.status ?? 0);
    throw cannot && refusal !== null ? refusal : error;
  });
}

/** What an admitted call gives back; why it is not admitted, where that depends on how much it may spend. */
function judgedBy(judge: () => () => void): (() => void) | WorkflowError {
  try {
    return judge();
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
export function mostInput({ system, tools, messages, format = { type: "none" } }: Input): number {
  const bytes = Buffer.byteLength(JSON.stringify([system, tools, messages, format]));
  return bytes + addedToRequest + addedToPart * (messages.length + tools.length);
}

type Input = Pick<LLMRequest, "system" | "tools" | "messages"> & { format?: object };

const texts = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Whether a request is text alone: a picture or a document has tokens that its bytes don't tell. */
const isText = ({ messages }: LLMRequest): boolean => messages.flatMap(blocksOf).every(isTextBlock);

const isTextBlock = ({ type, content }: Block): boolean =>
  texts.has(type) || (type === "tool_result" && typeof content === "string");
