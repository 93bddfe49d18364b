import type { RootReservation, RootSpending } from "@uncaged/workflow/interpreter";
import type { ThreadContext } from "@uncaged/workflow";
import { delay } from "../run/delay.ts";
import { publish } from "../run/run.ts";
import { rootLimitReached } from "./errors.ts";

/**
 * A call under the limits of the storage root. `most` is the maximum cost and `least` the minimum useful amount, in US
 * dollars.
 */
export type RootCall = { call: string; model: string; least: number; most: number };

/** `waits`: whether the call may wait for calls in flight, and for a limit to be raised or reset. */
export type RootWaiting = { waits: boolean; signal?: AbortSignal };

type Spent = Extract<RootReservation, { kind: "spent" }>;

const [firstPollMs, longestPollMs] = [50, 1000];

/** Applies the limits of the storage root to one role. */
export class RootLimit {
  /** Whether the storage root has limits. */
  readonly isLimited: boolean;
  readonly #spending: RootSpending | null;
  readonly #ctx: ThreadContext;

  /** @throws WorkflowError when the limits cannot be read. */
  constructor(ctx: ThreadContext) {
    const given = ctx.options?.spending as Partial<RootSpending> | undefined;
    this.#spending = typeof given?.reserve === "function" ? (given as RootSpending) : null;
    this.#ctx = ctx;
    this.isLimited = (this.#spending?.left() ?? null) !== null;
  }

  /**
   * Reserves the maximum cost of a call, and waits for calls in flight if necessary. Returns null if a limit is used
   * up. The caller must then call {@link wait}.
   * @throws WorkflowError `BUDGET_EXCEEDED` if the call must not wait; the signal's reason if the signal is aborted.
   */
  async reserve(next: RootCall, { waits, signal }: RootWaiting): Promise<RootHold | null> {
    const spending = this.#spending;
    if (!this.isLimited || spending === null)
      return { amount: next.most, release: () => undefined };
    const { call, least, most } = next;
    const release = (): void => void spending.release(call).catch(() => undefined);
    for (let ms = firstPollMs; ; ms = Math.min(2 * ms, longestPollMs)) {
      const reply = await spending.reserve({ call, least, most });
      if (signal?.aborted) release();
      signal?.throwIfAborted();
      if (reply.kind === "reserved") return { amount: reply.amount, release };
      if (!waits) throw rootLimitReached(reply.kind === "busy" ? inFlight : textOf(reply, next));
      if (reply.kind === "spent") return null;
      if (ms === firstPollMs) publish("llm_wait", { delay_ms: longestPollMs, reason: inFlight });
      await delay(ms, signal);
    }
  }

  /**
   * Waits until the limits allow a call. The whole thread waits if it can ask a person, otherwise only the step waits.
   */
  async wait({ call, model, least, most }: RootCall, signal: AbortSignal | undefined) {
    const spending = this.#spending as RootSpending;
    let hasSaid = false;
    for (;;) {
      const reply = await spending.reserve({ call, least, most });
      if (reply.kind !== "spent") return await spending.release(call);
      const text = textOf(reply, { model, least });
      if (this.#ctx.questions) return await this.#ask(reply, text);
      if (!hasSaid) {
        publish("tool_message", {
          name: model,
          level: "warn",
          message: `waiting: ${text}`,
          data: null,
        });
      }
      hasSaid = true;
      await delay(longestPollMs, signal);
    }
  }

  async #ask({ limit, amount, file, until }: Spent, text: string): Promise<void> {
    const { attempts, questions, role, threadId } = this.#ctx;
    let n = 0;
    const idOf = (nth: number): string => `${threadId}:limits:${nth}`;
    while (questions?.answered(idOf(n))) n += 1;
    await questions?.ask(idOf(n), "limits", {
      content: `${text}; answer again once the limit is raised`,
      ...{ limit, amount, file, stepID: role, attempt: attempts?.outermost ?? undefined },
      ...{ schema: { enum: ["again"] }, expiresAt: until, onTimeout: "again", token: idOf(n) },
    });
  }
}

/** A reservation, in US dollars. */
export type RootHold = { amount: number; release: () => void };

const inFlight = "calls in flight have reserved the rest of the limits of the storage root";

const dollars = (cost: number): string => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;

const textOf = (
  { limit, amount, spent, until }: Spent,
  { model, least }: Pick<RootCall, "model" | "least">,
): string =>
  `${limit} ${dollars(amount)} of the storage root would be exceeded until ${new Date(until).toISOString()}: ${dollars(spent)} are spent, and the next call of ${model} could cost ${dollars(least)}`;
