import type { Usage } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { currentRun, Meter, type Spent, spend } from "../run/run.ts";
import { inputBound, leastOutput, outputIfUnbounded } from "../llm/reserve.ts";

/** A model call to pay for. `input` is the model's input, as JSON; `maxOutput` the maximum tokens of its answer. */
export type CallToPay = {
  model: string;
  input: unknown;
  maxOutput: number | undefined;
  signal: AbortSignal | undefined;
};

/** The payment of a model call in flight. It ends with `whole`, `free` or `broken`. */
export type Payment = {
  /** The maximum tokens of the answer, if the thread's limits bound it. */
  readonly maxOutput: number | undefined;
  /** Whether the limits allow fewer tokens than requested. */
  readonly isCapped: boolean;
  /** Counts the usage of the answer so far. */
  update(model: string, usage: Usage): void;
  /** Ends a call with its usage, and returns its spending. Without usage the maximum usage counts. */
  whole(model: string, usage: Usage | null): Spent[];
  /** Ends a call that cost nothing because the call was not made or the provider declined the call. */
  free(): void;
  /** Ends a call whose answer broke off: the usage so far counts. */
  broken(): void;
  /** Waits until a person raises the limits for the whole answer. Returns false if the thread cannot ask a person. */
  raised(model: string, usage: Usage): Promise<boolean>;
};

/**
 * Reserves the maximum cost of a call within the limits of the run around the code, and records its start in the
 * journal.
 *
 * @throws WorkflowError `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`; the signal's reason when it is aborted.
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
