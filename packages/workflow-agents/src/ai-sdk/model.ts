import type { LanguageModel } from "ai";
import { cutByLimit } from "../llm/errors.ts";
import type { RecordedCall, StepCalls } from "../recorded-call/calls.ts";
import { openPayment, type Payment } from "../recorded-call/payment.ts";
import { currentCalls } from "../recorded-call/step.ts";
import type { Spent } from "../run/run.ts";
import {
  type CallOptions,
  type Generated,
  isFree,
  isOwnCall,
  isWhole,
  type Model,
  reasonOf,
  report,
  type Streamed,
  usageOf,
} from "./answer.ts";
import { notModel } from "./errors.ts";
import { RecordedStream, streamOf } from "./stream.ts";

/** A model of an AI SDK provider: `anthropic("…")`, `openai("…")`, `gateway("…")`. */
type ProviderModel = Exclude<LanguageModel, string>;

/**
 * Returns a model whose answers are recorded in the step that calls it. After a crash, and in a retry, the step gets
 * the recorded answers, and pays only for the rest. The calls' tokens and costs count toward the step and its limits.
 *
 *     const { text } = await generateText({ model: durableModel(anthropic("claude-opus-5-5")), prompt });
 *
 * The prompt, tools and settings identify a call, so a changed prompt is a new call. Headers are not recorded. Outside
 * a step of `durable` and a role of `createRoleModerator`, calls are passed to the model unchanged, so that the same
 * code also runs in scripts and tests.
 *
 * @throws WorkflowError `BAD_MODEL` for a string; from a call, `BUDGET_EXCEEDED` and `PRICE_UNKNOWN`. A call also
 *   throws errors of the model.
 */
export function durableModel<M extends ProviderModel>(
  given: M,
): Pick<
  M,
  "specificationVersion" | "provider" | "modelId" | "supportedUrls" | "doGenerate" | "doStream"
> {
  // Without type checks, a caller may pass a model's name, as the AI SDK allows.
  if (typeof given !== "object" || given === null) throw notModel(given);
  // Answers of older specifications have other types. The code below handles both.
  const model = given as unknown as Model;
  const durable: Model = {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    async doGenerate(options) {
      const calls = currentCalls();
      if (calls === null) return await model.doGenerate(options);
      const call = await begin(calls, "generate", model, options);
      if (call.found) return call.found.value as Generated;
      const own = { ...options, abortSignal: calls.signalOfModel(options.abortSignal) };
      return await call.within(() => ending(call, () => generate(model, own, call)));
    },
    async doStream(options) {
      const calls = currentCalls();
      if (calls === null) return await model.doStream(options);
      const call = await begin(calls, "stream", model, options);
      if (call.found) return { stream: streamOf(call.found.value) };
      const own = { ...options, abortSignal: calls.signalOfModel(options.abortSignal) };
      return await call.within(() => ending(call, () => stream(model, own, call)));
    },
  };
  return durable;
}

const begin = (
  calls: StepCalls,
  way: "generate" | "stream",
  { provider, modelId }: Model,
  options: CallOptions,
): Promise<RecordedCall> => {
  const { headers: _, abortSignal: __, includeRawChunks: ___, ...content } = options;
  return calls.open("model", [way, provider, modelId, content]);
};

/** Marks a call as failed if its work throws. */
async function ending<T>(call: RecordedCall, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await call.failed();
    throw error;
  }
}

async function generate(
  model: Model,
  options: CallOptions,
  call: RecordedCall,
): Promise<Generated> {
  const paid: Spent[] = [];
  for (;;) {
    const payment = await pay(model, options);
    const result = await calling(payment, () => model.doGenerate(within(options, payment)));
    const { request: _, response, ...answer } = result;
    const usage = usageOf(answer);
    const named = response?.modelId ?? model.modelId;
    paid.push(...payment.whole(named, usage));
    if (payment.isCapped && usage && reasonOf(answer) === "length") {
      if (await payment.raised(named, usage)) continue;
      throw cutByLimit(model.provider, payment.maxOutput ?? 0);
    }
    for (const piece of answer.content) report(piece);
    if (!isWhole(answer)) {
      await call.failed();
      return result;
    }
    const { headers: __, body: ___, ...head } = response ?? {};
    const isLast = !answer.content.some(isOwnCall);
    await call.done({ value: { ...answer, response: head }, isLast, paid });
    return result;
  }
}

async function stream(model: Model, options: CallOptions, call: RecordedCall): Promise<Streamed> {
  const payment = await pay(model, options);
  const isRaw = options.includeRawChunks ?? false;
  // If an answer breaks off, only the raw chunks have its usage.
  const asked = { ...within(options, payment), includeRawChunks: true };
  const result = await calling(payment, () => model.doStream(asked));
  const recorded = new RecordedStream(model, result.stream, { call, payment, isRaw });
  return { ...result, stream: recorded.stream };
}

const pay = (
  { modelId: model }: Model,
  { prompt, tools, responseFormat, maxOutputTokens, abortSignal }: CallOptions,
): Promise<Payment> =>
  openPayment({
    model,
    input: [prompt, tools, responseFormat],
    maxOutput: maxOutputTokens,
    signal: abortSignal,
  });

const within = (options: CallOptions, { maxOutput }: Payment): CallOptions =>
  maxOutput === options.maxOutputTokens ? options : { ...options, maxOutputTokens: maxOutput };

async function calling<T>(payment: Payment, work: () => PromiseLike<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isFree(error)) payment.free();
    else payment.broken();
    throw error;
  }
}
