import { isWorkflowError, type Usage } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { callPolicy, type Retrying } from "../run/retry.ts";
import { isObject } from "../run/error.ts";
import { currentRun, type Spent } from "../run/run.ts";
import { ProviderError } from "./error.ts";
import {
  blocksOf,
  type ModelAnswer,
  type ModelProvider,
  type ModelRequest,
  type Surroundings,
} from "./provider.ts";
import { retried } from "./retry.ts";

/** Returns the retry policy of a call: the role's policy, otherwise the provider's default. */
export const retrying = ({ maxRetries = 2 }: ModelProvider): Retrying =>
  currentRun().retrying ?? {
    policy: callPolicy({ attempts: maxRetries + 1 }),
    since: performance.now(),
  };

/**
 * `cap` is the maximum number of tokens in an answer if the thread's limit allows fewer than requested, otherwise null.
 */
export type Capped = { cap: number | null };

/** Maximum number of output tokens for a request without `maxTokens` in a thread with a limit. */
export const outputIfUnbounded = 16_384;
/** Minimum number of output tokens to reserve for a call. With fewer tokens, an answer is rarely complete. */
export const leastOutput = 1024;

/** A reservation. `usage` is the maximum usage of the call if the thread has a limit. */
type Reserved = Capped & {
  call: string;
  request: ModelRequest;
  usage: Usage | null;
  release: () => void;
};

/**
 * Reserves the maximum cost of a call within the thread's limits, and limits the answer to the rest. The service counts
 * the input only if the bound by its bytes would exceed a limit.
 */
export async function reserveCall(
  provider: ModelProvider,
  request: ModelRequest,
  surroundings: Surroundings,
): Promise<Reserved> {
  const { reserve, isLimited = false } = currentRun();
  const call = crypto.randomUUID();
  if (!isLimited) return { call, request, cap: null, usage: null, release: () => undefined };
  const { model, maxTokens = outputIfUnbounded, thinking } = request;
  const budget = typeof thinking === "object" ? thinking.budgetTokens : 0;
  const least = Math.min(maxTokens, budget + leastOutput);
  const reserveFor = async (input: number, waits: boolean): Promise<Reserved> => {
    const usage = { ...noUsage, input_tokens: input, output_tokens: maxTokens };
    const how = waits ? { least, signal: surroundings.signal } : { waits };
    const { outputTokens, release } = await reserve(
      { ...pricedBy(provider), model, usage, call },
      how,
    );
    const cap = outputTokens < maxTokens ? outputTokens : null;
    const bounded = { ...request, maxTokens: outputTokens };
    const bound = { ...usage, output_tokens: outputTokens };
    return { call, request: bounded, cap, usage: bound, release };
  };
  const { countInput } = provider;
  const mostInput = inputBound(request);
  if (!countInput) return await reserveFor(mostInput, true);
  if (isText(request)) {
    try {
      return await reserveFor(mostInput, false);
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "BUDGET_EXCEEDED") throw error;
    }
  }
  const counting = () => countInput({ ...request, maxTokens }, surroundings);
  const count = await retried(retrying(provider), surroundings.signal, counting).catch(
    (error: unknown) => {
      // Another service with the same protocol may not support counting. The bound by bytes then decides.
      const status = error instanceof ProviderError ? error.status : null;
      if ([404, 405, 501].includes(status ?? 0)) return mostInput;
      throw error;
    },
  );
  return await reserveFor(count, true);
}

// Tokens that a service adds to a request: instructions for tools and forms, and marks around each message.
const addedToRequest = 1024;
const addedToPart = 16;
// Maximum number of tokens of a picture that is sent as a URL, whose bytes do not bound the tokens.
const mostOfPicture = 5000;

type Input = Pick<ModelRequest, "system" | "tools" | "messages"> & { format?: object };

/** Returns the maximum number of input tokens of a request. Each token has at least one byte of UTF-8. */
export function inputBound({ system, tools, messages, format = { type: "none" } }: Input): number {
  let pictures = 0;
  const counted = (_: string, value: unknown): unknown => {
    if (
      !isObject(value) ||
      !/^(image|input_image|document|file|input_file)/.test(String(value.type))
    )
      return value;
    pictures += 1;
    // The bytes of a picture do not determine its tokens.
    return value.type === "image" ? { type: "image" } : value;
  };
  const bytes = Buffer.byteLength(JSON.stringify([system, tools, messages, format], counted));
  const parts = messages.length + tools.length;
  return bytes + addedToRequest + addedToPart * parts + mostOfPicture * pictures;
}

const texts = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Returns whether a request has only text. The bytes of a picture or a document do not determine its tokens. */
const isText = ({ messages }: ModelRequest): boolean =>
  messages
    .flatMap(blocksOf)
    .every(
      ({ type, content, parts }) =>
        texts.has(type) || (type === "tool_result" && typeof content === "string" && !parts),
    );

/** Makes the thread wait until a person raises its limit. Returns false if the thread cannot ask a person. */
export async function raised({ maxTokens = outputIfUnbounded }: ModelRequest, answer: ModelAnswer) {
  const usage = { ...answer.usage, output_tokens: maxTokens };
  return (await currentRun().raise?.({ model: answer.model, usage, cost: null })) ?? false;
}

export const pricedBy = ({ cacheWrites }: ModelProvider): Pick<Spent, "cost" | "cacheWrites"> => ({
  cost: null,
  ...(cacheWrites && { cacheWrites }),
});
