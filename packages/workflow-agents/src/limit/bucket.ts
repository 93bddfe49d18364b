/*
 * The rate limits of one key and model, shared by all processes of this machine.
 *
 * B1 A call reserves one request and its tokens from the remaining limit at its start. A waiting call reserves nothing.
 * B2 When a limit's reset passes, the whole limit is available again. B3 An answer reports the remaining limit at the
 * time when the provider counted its call. Later calls are subtracted. B4 Calls do not wait for a reset or a pause that
 * is more than ten minutes away.
 *
 * The value is JSON in a file that processes of several versions read. An unknown format counts as an empty value.
 */
import * as z from "zod/mini";
import { limitNames, type LimitName, type SeenLimits } from "./headers.ts";

const longestMs = 10 * 60_000;
const minuteMs = 60_000;
const secondMs = 1000;
// Calls per second before the first answer, and after a refusal by a provider that does not report limits.
const firstCalls = 8;
const guessedMost = 64;

const amount = z.number().check(z.nonnegative());
const sizeForm = z.object({ requests: amount, tokens: amount });
const limitForm = z.object({
  ...{ limit: z.number().check(z.minimum(1)), remaining: z.number() },
  ...{ resetAt: amount, windowMs: z.number().check(z.positive()) },
  /** Whether the limit is a guess, because the provider did not report it. */
  isGuessed: z.optional(z.boolean()),
});
const stateForm = z.object({
  version: z.literal(2),
  isKnown: z.boolean(),
  /** Totals of all calls, and of the calls up to the newest answered call. */
  sent: sizeForm,
  newest: amount,
  limits: z.partialRecord(z.enum(limitNames), limitForm),
  pausedUntil: amount,
});
type Size = z.infer<typeof sizeForm>;
type Limit = z.infer<typeof limitForm>;
type State = z.infer<typeof stateForm>;

/** The totals up to and including a call. */
export type Mark = Size;

/** The end of a call's wait, and its reason: a limit, a pause that the provider requested, or the first answer. */
export type Opening = { at: number; for: LimitName | "pause" | "first" };

const unitOf = (name: LimitName): keyof Size => (name === "requests" ? name : "tokens");

export class Bucket {
  readonly #now: number;
  readonly #state: State;

  constructor(value: unknown, now: number) {
    this.#now = now;
    const { data, success } = stateForm.safeParse(value);
    this.#state = success ? data : nothingKnown(now);
    const state = this.#state;
    for (const limit of this.#limits.map(([, one]) => one)) {
      // The clock may have been set back.
      const isOver = limit.resetAt <= now || limit.resetAt > now + limit.windowMs;
      if (isOver) Object.assign(limit, { remaining: limit.limit, resetAt: now + limit.windowMs });
    }
    if (state.pausedUntil > now + longestMs) state.pausedUntil = 0;
  }

  get value(): unknown {
    return this.#state;
  }

  /** Reserves a request and its tokens. Returns the call's mark, or the time at which to try again. */
  reserve(tokens: () => number): Mark | Opening {
    const { isKnown, pausedUntil, sent } = this.#state;
    const isCounted = this.#limits.some(([name]) => unitOf(name) === "tokens");
    const size: Size = { requests: 1, tokens: isCounted ? tokens() : 0 };
    const needOf = (name: LimitName, { limit }: Limit): number =>
      Math.min(size[unitOf(name)], limit);
    const opening: Opening = { at: this.#now, for: "pause" };
    if (pausedUntil > opening.at) opening.at = pausedUntil;
    for (const [name, limit] of this.#limits) {
      if (limit.remaining >= needOf(name, limit) || limit.resetAt <= opening.at) continue;
      Object.assign(opening, { at: limit.resetAt, for: isKnown ? name : "first" });
    }
    if (opening.at > this.#now) return opening;
    for (const [name, limit] of this.#limits) limit.remaining -= needOf(name, limit);
    sent.requests += size.requests;
    sent.tokens += size.tokens;
    return { ...sent };
  }

  /** The number of calls that one process may start at a time, so that waiting processes get their share. */
  get share(): number {
    const { requests } = this.#state.limits;
    return requests ? Math.ceil(requests.limit / 8) : Infinity;
  }

  /** Updates the limits from a call's answer. */
  answered(mark: Mark, { status, limits, retryAfterMs }: SeenLimits): void {
    const state = this.#state;
    const isOk = status >= 200 && status < 300;
    if (!state.isKnown) state.limits = {};
    state.isKnown = true;
    if (mark.requests >= state.newest) {
      state.newest = mark.requests;
      for (const name of limitNames) {
        const seen = limits[name];
        if (!seen && isOk && !state.limits[name]?.isGuessed) delete state.limits[name];
        if (!seen) continue;
        const resetAt = seen.resetAt ?? this.#now + minuteMs;
        const windowMs = Math.max(1, resetAt - this.#now);
        const sentSince = state.sent[unitOf(name)] - mark[unitOf(name)];
        const remaining = seen.remaining - sentSince;
        if (windowMs > longestMs) delete state.limits[name];
        else state.limits[name] = { limit: seen.limit, remaining, resetAt, windowMs };
      }
    }
    if (isOk) this.#accepted();
    else if (status === 429) this.#refused(retryAfterMs);
    else if (status === 503 || status === 529) this.#pause(retryAfterMs ?? 0);
  }

  get #limits(): [LimitName, Limit][] {
    return Object.entries(this.#state.limits) as [LimitName, Limit][];
  }

  #accepted(): void {
    const { limits } = this.#state;
    if (!limits.requests?.isGuessed) return;
    limits.requests.limit += 1;
    if (limits.requests.limit > guessedMost) delete limits.requests;
  }

  #refused(retryAfterMs: number | null): void {
    const { limits } = this.#state;
    const { requests } = limits;
    if (this.#limits.every(([, { isGuessed }]) => isGuessed === true)) {
      // Concurrent calls that were refused together count once.
      const isNew = !requests || requests.remaining > 0;
      const limit = isNew
        ? Math.max(1, Math.floor((requests?.limit ?? firstCalls) / 2))
        : requests.limit;
      const resetAt = this.#now + secondMs;
      limits.requests = { limit, remaining: 0, resetAt, windowMs: secondMs, isGuessed: true };
    }
    this.#pause(retryAfterMs ?? 0);
  }

  #pause(ms: number): void {
    if (ms > longestMs) return;
    this.#state.pausedUntil = Math.max(this.#state.pausedUntil, this.#now + ms);
  }
}

const nothingKnown = (now: number): State => ({
  ...{ version: 2, isKnown: false, sent: { requests: 0, tokens: 0 }, newest: 0, pausedUntil: 0 },
  limits: {
    requests: {
      ...{ limit: firstCalls, remaining: firstCalls, isGuessed: true },
      ...{ resetAt: now + secondMs, windowMs: secondMs },
    },
  },
});
