import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, test } from "bun:test";
import type { SharedValues } from "@uncaged/workflow/interpreter";
import { headersOf } from "../../test/limited/server.ts";
import { failureOf } from "../../test/published.ts";
import { TooLong, turnOf } from "./line.ts";

/* Tests calls of one process that wait for one bucket. */
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error("over"));
});
const name = () => crypto.randomUUID().replaceAll("-", "");
const tokens = () => 1;
const head = (resetMs: number) => ({
  status: 200,
  headers: new Headers(headersOf("gpt", { remaining: 0, resetMs, waitMs: 0, isAllowed: true })),
});

/** Returns the name of a bucket whose next call may start after about `ms` milliseconds. */
async function closed(shared: SharedValues | undefined, ms: number): Promise<string> {
  const bucket = name();
  const turn = await turnOf(shared, bucket, { tokens });
  turn.send()(head(ms * 10));
  // The limits in the answer are recorded in the background, so wait for another turn.
  await turnOf(shared, name(), { tokens });
  return bucket;
}

describe("a call", () => {
  test("a call that is aborted while it waits ends at once, and does not delay other calls", async () => {
    const bucket = await closed(undefined, 50);
    const stop = new AbortController();
    stops.push(stop);
    const all = Array.from({ length: 100 }, () =>
      failureOf(turnOf(undefined, bucket, { tokens, signal: stop.signal })),
    );
    const last = turnOf(undefined, bucket, { tokens });
    stop.abort(new Error("killed"));
    expect(await Promise.all(all)).toEqual(all.map(() => new Error("killed")));
    await last;
  });

  test("calls start in their order of arrival, and each learns the duration of its wait", async () => {
    const bucket = await closed(undefined, 120);
    const order: number[] = [];
    const waits: [number, string][] = [];
    const onWait = (ms: number, reason: string) => waits.push([ms, reason]);
    const calls = [1, 2, 3].map(async (n) => {
      await turnOf(undefined, bucket, { tokens, onWait });
      order.push(n);
    });
    await Promise.all(calls);
    expect(order).toEqual([1, 2, 3]);
    expect(waits.map(([, reason]) => reason)).toEqual(["requests", "requests", "requests"]);
    const [first = 0, second = 0] = waits.map(([ms]) => ms);
    expect(Math.min(first, second)).toBeGreaterThan(100);
  });

  test("a call's wait is reported in the call's own async context, whichever call checks the bucket", async () => {
    const bucket = await closed(undefined, 30);
    const context = new AsyncLocalStorage<number>();
    const told: [number, number | undefined][] = [];
    const waitIn = (n: number) =>
      context.run(n, () => {
        const onWait = () => void told.push([n, context.getStore()]);
        return turnOf(undefined, bucket, { tokens, onWait });
      });
    await Promise.all([1, 2, 3].map(waitIn));
    expect(told.toSorted(([a], [b]) => a - b)).toEqual([1, 2, 3].map((n) => [n, n]));
  });

  test("a call fails at once when its wait is too long, and the next call takes its place", async () => {
    const bucket = await closed(undefined, 60_000);
    const isTooLong = (ms: number) => ms > 5000;
    const error = await failureOf(turnOf(undefined, bucket, { tokens, isTooLong }));
    expect(error).toBeInstanceOf(TooLong);
    expect((error as TooLong).ms).toBeGreaterThan(50_000);
  });

  test("a call uses the limits of its own process if limits cannot be shared", async () => {
    const broken: SharedValues = { update: async () => false };
    const bucket = await closed(broken, 60_000);
    const isTooLong = () => true;
    const other = await failureOf(turnOf(undefined, bucket, { tokens, isTooLong }));
    expect(other).toBeInstanceOf(TooLong);
  });

  test("a call starts when the shared limits become unreadable", async () => {
    const values = new Map<string, unknown>();
    let isBroken = false;
    const shared: SharedValues = {
      async update(key, change) {
        if (isBroken) return false;
        const next = change(values.get(key));
        if (next !== undefined) values.set(key, next);
        return true;
      },
    };
    const bucket = await closed(shared, 60_000);
    const call = turnOf(shared, bucket, { tokens, onWait: () => (isBroken = true) });
    await call;
  });
});
