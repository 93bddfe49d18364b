import type { Usage } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { currentRun, Meter, type Spent, spend } from "../run/run.ts";
import { inputBound, leastOutput, outputIfUnbounded } from "../llm/reserve.ts";

/**
 * A model call to pay for. `input` is the model's input as JSON, and `maxOutput` the requested maximum number of tokens
 * in the answer.
 */
export type CallToPay = {
  model: string;
  input: unknown;
  maxOutput: number | undefined;
  signal: AbortSignal | undefined;
};

/** The payment of a model call in flight. It ends with `whole`, `free` or `broken`. */
export type Payment = {
  /** The maximum number of tokens in the answer: the requested maximum, or the maximum within the thread's limits. */
  readonly maxOutput: number | undefined;
  /** Whether the limits allow fewer tokens than requested. */
  readonly isCapped: boolean;
  /** Counts the usage of the answer so far. */
  update(model: string, usage: Usage): void;
  /** Ends a call with its usage, and returns the spending. If the usage is missing, the reserved maximum counts. */
  whole(model: string, usage: Usage | null): Spent[];
  /** Ends a call that cost nothing, because it was not made or the provider declined it. */
  free(): void;
  /** Ends a call whose answer broke off. The usage so far counts. */
  broken(): void;
  /** Makes the thread wait until a person raises the limits. Returns false if the thread cannot ask a person. */
  raised(model: string, usage: Usage): Promise<boolean>;
};

/**
 * Reserves the maximum cost of a call within the limits of the surrounding run, and records the start of the call in
 * the journal.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`; the signal's reason if the signal is aborted.
 */
export async function openPayment({
  model,
  input,
  maxOutput,
  signal,
}: CallToPay): Promise<Payment> {
  const run = currentRun();
  const call = crypto.randomUUID();
  const asked = maxOutput ?? outputIfUnbounded;
  const input_tokens = run.isLimited
    ? inputBound({ system: "", tools: [], messages: [], format: { input } })
    : 0;
  const most = { ...noUsage, input_tokens, output_tokens: asked };
  const { outputTokens, release } = run.isLimited
    ? await run.reserve(
        { model, usage: most, cost: null, call },
        { least: Math.min(asked, leastOutput), ...(signal && { signal }) },
      )
    : { outputTokens: asked, release: () => undefined };
  const meter = new Meter(model, undefined, call);
  await meter.begun();
  const isLimited = run.isLimited ?? false;
  let partial: Spent | null = null;
  return {
    maxOutput: isLimited ? outputTokens : maxOutput,
    isCapped: outputTokens < asked,
    update(named, usage) {
      partial = { model: named, usage, cost: null, call };
      meter.update(partial);
    },
    whole(named, given) {
      const usage = given ?? (isLimited ? { ...most, output_tokens: outputTokens } : noUsage);
      const spent: Spent = { model: named, usage, cost: null, call };
      spend(spent);
      if (given || isLimited) meter.end(spent);
      else meter.breakOff();
      release();
      return [spent];
    },
    free() {
      meter.free();
      release();
    },
    broken() {
      if (partial) spend(partial);
      meter.breakOff();
      release();
    },
    raised: async (named, usage) =>
      (await run.raise?.({
        model: named,
        usage: { ...usage, output_tokens: asked },
        cost: null,
      })) ?? false,
  };
}
