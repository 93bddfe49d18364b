import { describe, expect, test } from "bun:test";
import { allowances, type Counting, headersOf, perSecond } from "../../test/limited/server.ts";
import { Bucket, type Mark, type Place } from "./bucket.ts";
import { limitsIn } from "./headers.ts";

/** A bucket in a time of its own. */
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
    this.use((bucket) => bucket.answered(mark, this.now, seen));
  }

  place = (tokens = 0): Place => this.use((bucket) => bucket.give(() => tokens));
  go = (place: Place): Mark => this.use((bucket) => bucket.go(place));
  wait = (line: string, place: Place | null) => this.use((bucket) => bucket.wait(line, place));
  msUntil = (place: Place): number => this.use((bucket) => bucket.opening(place).at) - this.now;
}

type Simulated = { counting: Counting; answerMs: number };

/** Has 25 callers make five calls each, as soon as the bucket lets them, and again when they are refused. */
function simulate({ counting, answerMs }: Simulated) {
  const time = new Timed();
  const began = time.now;
  const allows = allowances[counting](began);
  const [served, refused]: [number[], number[]] = [[], []];
  const due: { at: number; act: () => void }[] = [];
  const after = (ms: number, act: () => void) => due.push({ at: time.now + ms, act });
  const call = (id: number, left: number, place: Place) => {
    const ms = time.msUntil(place);
    if (ms > 0) {
      time.wait(String(id), place);
      return after(Math.min(ms, 100), () => call(id, left, place));
    }
    const mark = time.go(place);
    time.wait(String(id), null);
    after(5, () => {
      const allowed = allows(time.now);
      (allowed.isAllowed ? served : refused).push(id);
      after(answerMs, () => {
        time.answer(mark, headersOf("gpt", allowed, time.now), allowed.isAllowed ? 200 : 429);
        if (allowed.isAllowed && left === 1) return;
        const next = allowed.isAllowed ? left - 1 : left;
        after(allowed.isAllowed ? 0 : 1000, () => call(id, next, time.place()));
      });
    });
  };
  for (let id = 0; id < 25; id += 1) after(id * 3, () => call(id, 5, time.place()));
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
  { counting: "bucket", answerMs: 5, most: 12.5 },
  { counting: "bucket", answerMs: 500, most: 13.5 },
  { counting: "window", answerMs: 20, most: 20 },
  { counting: "window", answerMs: 500, most: 30 },
] as const)("a provider that counts by a $counting and answers after $answerMs ms", (given) => {
  test("refuses hardly any call, and is used as fast as it allows", () => {
    const { served, refused, seconds } = simulate(given);
    expect(served).toHaveLength(125);
    expect(refused.length).toBeLessThan(125 * 0.05);
    expect(seconds).toBeLessThan(given.most);
  });
});

const full = headersOf("gpt", { remaining: 0, resetMs: 1000, waitMs: 100, isAllowed: true });

describe("a place in line", () => {
  test("opens at once while nothing is known, and later and later when no answer comes", () => {
    const time = new Timed();
    const waits = Array.from({ length: 30 }, () => time.msUntil(time.place()));
    expect(waits.map((ms) => Math.max(0, ms))).toEqual([
      ...Array<number>(8).fill(0),
      ...Array<number>(16).fill(1000),
      ...Array<number>(6).fill(2000),
    ]);
  });

  test("opens as its provider's answers show, in the order in which places were given", () => {
    const time = new Timed();
    time.answer(time.go(time.place()), full);
    const places = Array.from({ length: 20 }, () => time.place());
    expect(places.map((place) => Math.round(time.msUntil(place)))).toEqual(
      places.map((_, at) => (at + 1) * 100),
    );
  });

  test("waits for the tokens that it needs, and never for more than there can be", () => {
    const time = new Timed();
    const headers = {
      "x-ratelimit-limit-tokens": "1000",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "10s",
    };
    time.answer(time.go(time.place()), headers);
    expect(Math.round(time.msUntil(time.place(300)))).toBe(3000);
    expect(Math.round(time.msUntil(time.place(1e9)))).toBe(13_000);
  });

  test("is not held up by those that were given to who has died", () => {
    const time = new Timed();
    time.answer(time.go(time.place()), full);
    const dead = Array.from({ length: 500 }, () => time.place());
    time.wait("died", dead[0] ?? null);
    const place = time.place();
    time.wait("lives", place);
    expect(time.msUntil(place)).toBeGreaterThan(50_000);
    time.now += 3001;
    time.wait("lives", place);
    expect(time.msUntil(place)).toBeLessThanOrEqual(0);
    time.answer(time.go(place), full);
    expect(Math.round(time.msUntil(time.place()))).toBe(100);
  });

  test("opens when a limit is shown no more, or was only guessed and calls are taken again", () => {
    const time = new Timed();
    time.answer(time.go(time.place()), full);
    time.answer(time.go(time.place()), {});
    expect(time.msUntil(time.place())).toBeLessThanOrEqual(0);
    const refused = new Timed();
    const mark = refused.go(refused.place());
    refused.answer(mark, {}, 429);
    expect(refused.msUntil(refused.place())).toBe(1000);
    refused.now += 60_000;
    for (let n = 0; n < 30; n += 1) refused.answer(refused.go(refused.place()), {});
    const later = Array.from({ length: 100 }, () => refused.place());
    expect(later.every((place) => refused.msUntil(place) <= 0)).toBe(true);
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
  ])("does not wait for a limit that makes no sense: %p", ({ limit, remaining, reset }) => {
    const time = new Timed();
    const headers = {
      "x-ratelimit-limit-requests": limit,
      "x-ratelimit-remaining-requests": remaining,
      "x-ratelimit-reset-requests": reset,
    };
    time.answer(time.go(time.place()), headers);
    const places = Array.from({ length: 50 }, () => time.place());
    expect(places.every((place) => time.msUntil(place) <= 0)).toBe(true);
  });

  test("waits as long as the provider asks, and not at all for who asks for a day", () => {
    const time = new Timed();
    time.answer(time.go(time.place()), { ...full, "retry-after": "20" }, 429);
    expect(time.msUntil(time.place())).toBe(20_000);
    const day = new Timed();
    day.answer(day.go(day.place()), { "retry-after": "86400" }, 503);
    expect(day.msUntil(day.place())).toBeLessThanOrEqual(0);
  });

  test("is not waited for any longer after the clock was set back", () => {
    const time = new Timed();
    time.answer(time.go(time.place()), { ...full, "retry-after": "20" }, 429);
    time.now -= 86_400_000;
    expect(time.msUntil(time.place())).toBeLessThan(10_000);
  });

  test.each([[null], [7], ["{"], [[]], [{ version: 2 }], [{ version: 1, issued: {} }]])(
    "is the first where the value is %j",
    (value) => {
      const time = new Timed();
      time.value = value;
      expect(time.place().to).toEqual({ requests: 1, tokens: 0 });
    },
  );
});

test("Anthropic's whole seconds are taken for as late as they may be, in this machine's time", () => {
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
