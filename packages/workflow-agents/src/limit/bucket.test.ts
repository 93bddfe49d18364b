import { describe, expect, test } from "bun:test";
import { allowances, type Counting, headersOf, perSecond } from "../../test/limited/server.ts";
import { Bucket, type Mark, type Opening } from "./bucket.ts";
import { limitsIn } from "./headers.ts";

/** A bucket with a simulated clock. */
class Timed {
  now = 1_000_000_000_000;
  value: unknown;

  use<T>(act: (bucket: Bucket) => T): T {
    const bucket = new Bucket(this.value, this.now);
    const result = act(bucket);
    this.value = JSON.parse(JSON.stringify(bucket.value));
    return result;
  }

  answer(mark: Mark, headers: Record<string, string>, status = 200): void {
    const seen = limitsIn({ status, headers: new Headers(headers) }, this.now);
    this.use((bucket) => bucket.answered(mark, seen));
  }

  reserve = (tokens = 0): Mark | Opening => this.use((bucket) => bucket.reserve(() => tokens));

  /** Starts a call, which must be allowed. */
  go(tokens = 0): Mark {
    const mark = this.reserve(tokens);
    if ("at" in mark) throw new Error(`waits for ${mark.for}`);
    return mark;
  }

  /** Returns the milliseconds until the next call may start, after the given calls. */
  msAfter(calls: number, tokens = 0): number {
    for (let call = 0; call < calls; call += 1) {
      const reserved = this.reserve(tokens);
      if ("at" in reserved) return reserved.at - this.now;
    }
    return 0;
  }
}

type Simulated = { counting: Counting; answerMs: number };

/**
 * Simulates 25 callers with five calls each. Each call starts when the bucket allows it, and is repeated when the
 * provider refuses it.
 */
function simulate({ counting, answerMs }: Simulated) {
  const time = new Timed();
  const began = time.now;
  const allows = allowances[counting](began);
  const [served, refused]: [number[], number[]] = [[], []];
  const due: { at: number; act: () => void }[] = [];
  const after = (ms: number, act: () => void) => due.push({ at: time.now + ms, act });
  const call = (id: number, left: number) => {
    const mark = time.reserve();
    if ("at" in mark) return after(mark.at - time.now + id, () => call(id, left));
    after(5, () => {
      const allowed = allows(time.now);
      (allowed.isAllowed ? served : refused).push(id);
      after(answerMs, () => {
        time.answer(mark, headersOf("gpt", allowed, time.now), allowed.isAllowed ? 200 : 429);
        if (allowed.isAllowed && left === 1) return;
        const next = allowed.isAllowed ? left - 1 : left;
        after(allowed.isAllowed ? 0 : 1000, () => call(id, next));
      });
    });
  };
  for (let id = 0; id < 25; id += 1) after(id * 3, () => call(id, 5));
  while (due.length > 0) {
    const soonest = due.reduce(
      (least, one, at) => (one.at < (due[least]?.at ?? 0) ? at : least),
      0,
    );
    const [next] = due.splice(soonest, 1);
    time.now = Math.max(time.now, next?.at ?? 0);
    next?.act();
  }
  return { served, refused, seconds: (time.now - began) / 1000 };
}

describe.each([
  { counting: "bucket", answerMs: 5, most: 15 },
  { counting: "bucket", answerMs: 500, most: 25 },
  { counting: "window", answerMs: 20, most: 20 },
  { counting: "window", answerMs: 500, most: 30 },
] as const)("a provider that counts by a $counting and answers after $answerMs ms", (given) => {
  test("refuses few calls, and answers nearly at the allowed rate", () => {
    const { served, refused, seconds } = simulate(given);
    expect(served).toHaveLength(125);
    expect(refused.length).toBeLessThan(125 * 0.05);
    expect(seconds).toBeLessThan(given.most);
  });
});

const full = headersOf("gpt", { remaining: 0, resetMs: 1000, waitMs: 100, isAllowed: true });

describe("a call", () => {
  test("a call starts at once while no limit is known, and waits after eight calls within a second", () => {
    const time = new Timed();
    expect(time.msAfter(8)).toBe(0);
    expect(time.reserve()).toEqual({ at: time.now + 1000, for: "first" });
    time.now += 1000;
    expect(time.msAfter(8)).toBe(0);
  });

  test("a call waits for the reset when nothing remains, and the calls after the answered call count", () => {
    const time = new Timed();
    const [first] = [time.go(), time.go()];
    time.answer(
      first,
      headersOf("gpt", { remaining: 3, resetMs: 1000, waitMs: 0, isAllowed: true }),
    );
    expect(time.msAfter(3)).toBe(1000);
    time.now += 1000;
    expect(time.msAfter(perSecond)).toBe(0);
    expect(time.msAfter(1)).toBe(1000);
  });

  test("an answer that arrives after a newer answer is ignored", () => {
    const time = new Timed();
    const [first, second] = [time.go(), time.go()];
    time.answer(second, full);
    time.answer(
      first,
      headersOf("gpt", { remaining: 9, resetMs: 1000, waitMs: 0, isAllowed: true }),
    );
    expect(time.msAfter(1)).toBe(1000);
  });

  test("a call waits for the tokens that it needs, but never for more than the limit", () => {
    const time = new Timed();
    const headers = {
      "x-ratelimit-limit-tokens": "1000",
      "x-ratelimit-remaining-tokens": "300",
      "x-ratelimit-reset-tokens": "10s",
    };
    time.answer(time.go(), headers);
    expect(time.msAfter(1, 300)).toBe(0);
    expect(time.reserve(1)).toMatchObject({ for: "tokens" });
    time.now += 10_000;
    expect(time.msAfter(1, 1e9)).toBe(0);
  });

  test("a waiting call reserves nothing, so a killed caller does not delay other calls", () => {
    const time = new Timed();
    time.answer(time.go(), full);
    for (let dead = 0; dead < 500; dead += 1) time.reserve();
    time.now += 1000;
    expect(time.msAfter(perSecond)).toBe(0);
  });

  test("a call starts when a limit is no longer reported, or was a guess and calls succeed again", () => {
    const time = new Timed();
    time.answer(time.go(), full);
    time.now += 1000;
    time.answer(time.go(), {});
    expect(time.msAfter(100)).toBe(0);
    const refused = new Timed();
    refused.answer(refused.go(), {}, 429);
    expect(refused.msAfter(1)).toBe(1000);
    for (let n = 0; n < 100; n += 1) {
      refused.now += 1000;
      refused.answer(refused.go(), {});
    }
    expect(refused.msAfter(100)).toBe(0);
  });

  test.each([
    { limit: "0", remaining: "0", reset: "1s" },
    { limit: "-5", remaining: "-1", reset: "1s" },
    { limit: "NaN", remaining: "NaN", reset: "NaN" },
    { limit: "10", remaining: "99", reset: "1s" },
    { limit: "10", remaining: "0", reset: "87600h" },
    { limit: "1", remaining: "0", reset: "23h" },
    { limit: "1e999", remaining: "Infinity", reset: "1s" },
    { limit: "10", remaining: "0", reset: "2036-01-01T00:00:00Z" },
  ])("a call does not wait for an invalid limit: %p", ({ limit, remaining, reset }) => {
    const time = new Timed();
    const headers = {
      "x-ratelimit-limit-requests": limit,
      "x-ratelimit-remaining-requests": remaining,
      "x-ratelimit-reset-requests": reset,
    };
    time.answer(time.go(), headers);
    expect(time.msAfter(50)).toBe(0);
  });

  test("a call waits as long as the provider requests, but not a whole day", () => {
    const time = new Timed();
    time.answer(time.go(), { ...full, "retry-after": "20" }, 429);
    expect(time.msAfter(1)).toBe(20_000);
    const day = new Timed();
    day.answer(day.go(), { "retry-after": "86400" }, 503);
    expect(day.msAfter(1)).toBeLessThanOrEqual(0);
  });

  test("a call does not wait longer after the clock was set back", () => {
    const time = new Timed();
    time.answer(time.go(), { ...full, "retry-after": "20" }, 429);
    time.now -= 86_400_000;
    expect(time.msAfter(1)).toBeLessThan(10_000);
  });

  test.each([[null], [7], ["{"], [[]], [{ version: 2 }], [{ version: 1, issued: {}, limits: {} }]])(
    "the bucket is empty when the stored value is %j",
    (value) => {
      const time = new Timed();
      time.value = value;
      expect(time.go()).toEqual({ requests: 1, tokens: 0 });
    },
  );
});

test("a time in whole seconds counts as the latest possible time, converted to this machine's clock", () => {
  const now = Date.parse("2026-11-23T10:00:00.500Z");
  const resetIn = (headers: Record<string, string>) => {
    const { limits } = limitsIn({ status: 200, headers: new Headers(headers) }, now);
    return (limits.requests?.resetAt ?? 0) - now;
  };
  const limit = {
    "anthropic-ratelimit-requests-limit": String(perSecond),
    "anthropic-ratelimit-requests-remaining": "3",
  };
  const reset = (time: string) => ({ ...limit, "anthropic-ratelimit-requests-reset": time });
  expect(resetIn(reset("2026-11-23T10:00:05Z"))).toBe(5500);
  expect(resetIn(reset("2026-11-23T10:00:05.250Z"))).toBe(4750);
  const date = { date: "Mon, 23 Nov 2026 09:00:00 GMT" };
  expect(resetIn({ ...reset("2026-11-23T09:00:05.000Z"), ...date })).toBe(5000);
});
