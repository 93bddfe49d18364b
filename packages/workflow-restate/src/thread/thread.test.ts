import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import * as leases from "./lease.ts";
import * as rules from "./thread.ts";
import type { AppendRequest, LastRecord, ThreadMeta } from "./thread.ts";

const last = (role: string, waits = false): LastRecord => ({ role, timestamp: 2, waits });
const claimedAt = 3;
const append = (meta: ThreadMeta | null, request: AppendRequest) =>
  rules.append(meta, request, claimedAt);
const park = (meta: ThreadMeta | null, holder: rules.Holder) => rules.park(meta, holder, claimedAt);
const given: rules.Started = {
  incarnation: "i",
  threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  hash: "EYHPV6X8XHTCS",
  workflow: "w",
  createdAt: 1,
  records: 1,
  sum: "0",
  last: null,
};
const begun = (waits = false): ThreadMeta =>
  rules.start({ ...given, ...(waits && { records: 2, last: last("__wait__", true) }) }, claimedAt)
    .meta;

function claimed(meta: ThreadMeta): ThreadMeta {
  const request = { epoch: meta.epoch, invocation: "inv_1", pid: 7, now: 3 };
  const result = rules.claim(meta, request);
  if ("over" in result) throw new Error(result.over);
  return result.meta;
}

/** Returns the next append of a worker that knows this state of the thread. */
const next = (meta: ThreadMeta, more: Partial<AppendRequest> = {}): AppendRequest => ({
  epoch: meta.epoch,
  claim: meta.claim,
  append: meta.appends + 1,
  n: meta.records,
  record: { sum: "1", last: last("a") },
  batch: false,
  ...more,
});

const stepped = (meta: ThreadMeta, more: Partial<AppendRequest> = {}): ThreadMeta => {
  const result = append(meta, next(meta, more));
  if (result.kind !== "done") throw new Error(result.kind);
  return result.meta;
};
const codeOf = (result: object): string =>
  "error" in result ? (result.error as { code: string }).code : "changed";
const end = { returnCode: 143, reason: "killed" };
const killedBy = { sum: "2", last: last("__end__"), end };

describe("a thread of a cluster", () => {
  test("accepts appends of the last claim only (T1)", () => {
    const first = claimed(begun());
    const second = claimed(first);
    expect(append(second, next(first)).kind).toBe("fenced");
    expect(append(second, next(second)).kind).toBe("done");
    expect(append(null, next(first)).kind).toBe("fenced");
  });

  test("distinguishes a lost worker from an immediate failure, and gets a new order on request", () => {
    const meta = stepped(claimed(begun()));
    const again = { epoch: meta.epoch, invocation: "inv_1", pid: 8, now: 2_000 };
    const lost = rules.claim({ ...meta, pause: true }, again);
    expect(lost).toMatchObject({ again: true, meta: { epoch: meta.epoch, claim: 2, pause: true } });
    for (const [before, now] of [
      [meta, 500],
      [{ ...meta, appends: 0 }, 2_000],
    ] as const) {
      const failed = rules.claim(before, { ...again, now });
      expect("meta" in failed && [failed.meta.claim, failed.again]).toEqual([2, undefined]);
    }
    if (!("meta" in lost)) throw new Error(lost.over);
    const ordered = rules.claim(lost.meta, { ...again, renews: 2 });
    if (!("meta" in ordered)) throw new Error(ordered.over);
    expect(ordered.meta).toMatchObject({ epoch: meta.epoch + 1, claim: 2, pause: true });
    expect(ordered.meta.drive).toEqual({ invocation: null, pid: 0, since: 3 });
    expect(rules.claim(ordered.meta, again)).toEqual({ over: "superseded" });
    expect(append(ordered.meta, next(lost.meta)).kind).toBe("fenced");
    // Another worker has claimed the thread meanwhile.
    const late = rules.claim(lost.meta, { ...again, renews: 1 });
    expect("meta" in late && late.meta.epoch).toBe(meta.epoch);
  });

  test("applies an append once, and acknowledges a repetition (T2)", () => {
    const meta = claimed(begun());
    const request = next(meta);
    const after = stepped(meta);
    expect(append(after, request)).toEqual({ kind: "again", meta: after });
    expect(append(after, next(after, { append: 3 })).kind).toBe("fenced");
    expect(append(after, next(after, { n: 1 })).kind).toBe("fenced");
  });

  test("accepts only debug log lines after its end (T3)", () => {
    const driven = claimed(begun());
    const killed = rules.kill(driven, killedBy);
    if ("error" in killed) throw new Error(killed.error.message);
    expect(append(killed.meta, next(driven)).kind).toBe("ended");
    const lines = next(driven, { record: undefined, batch: true });
    expect(append(killed.meta, lines).kind).toBe("done");
    expect(codeOf(rules.kill(killed.meta, killedBy))).toBe("THREAD_ENDED");
    for (const refused of [rules.pause(killed.meta), rules.resume(killed.meta, 4)]) {
      expect(codeOf(refused)).toBe("THREAD_ENDED");
    }
    expect(rules.claim(killed.meta, { epoch: 1, invocation: "i", pid: 1, now: 1 })).toEqual({
      over: "ended",
    });
  });

  test("an answer orders a new drive and supersedes earlier orders (T4)", () => {
    const asked = begun(true);
    expect(rules.standOf(asked)).toBe("waiting");
    expect(codeOf(rules.resume(asked, 3))).toBe("WAITING");
    expect(rules.refusalOfAnswer(asked)).toBeNull();
    const { meta } = rules.answer(asked, { sum: "1", last: last("__input__") }, 3);
    expect([rules.standOf(meta), meta.records]).toEqual(["driven", 3]);
    const before = { epoch: meta.epoch - 1, invocation: "i", pid: 1, now: 1 };
    expect(rules.claim(meta, before)).toEqual({ over: "superseded" });
    expect(rules.expires(meta, 1)).toBe(false);
    expect(rules.expires(asked, 1)).toBe(true);
  });

  test("pauses at its next yield, and continues if it is resumed before or after the pause", () => {
    const wanted = rules.pause(claimed(begun()));
    if ("error" in wanted) throw new Error(wanted.error.message);
    const resumed = rules.resume(wanted.meta, 4);
    if ("error" in resumed) throw new Error(resumed.error.message);
    expect(park(resumed.meta, resumed.meta)).toEqual({ parked: false });
    const parked = park(wanted.meta, wanted.meta);
    if (!("meta" in parked)) throw new Error("the thread did not park");
    expect(rules.standOf(parked.meta)).toBe("paused");
    const again = rules.resume(parked.meta, 5);
    expect("meta" in again && again.meta.epoch).toBe(2);
  });

  test("a lease keeps one holder until the lease expires", () => {
    const lease = { owner: "a", leaseMs: 10, takeOver: false };
    const taken = (result: object): ThreadMeta => (result as { meta: ThreadMeta }).meta;
    const free = rules.start({ ...given, byClaims: {} }, 0).meta;
    expect(rules.standOf(free)).toBe("idle");
    const first = taken(leases.hold(free, lease, 3));
    expect(leases.hold(first, lease, 12)).toEqual({ held: true });
    expect(rules.append(first, next(first), 12).kind).toBe("done");
    expect(rules.append(first, next(first), 13).kind).toBe("fenced");
    expect(leases.renew(first, first, 13)).toBeNull();
    const renewed = leases.renew(first, first, 12) as ThreadMeta;
    expect(rules.append(renewed, next(renewed), 13).kind).toBe("done");
    const second = taken(leases.hold(renewed, { ...lease, takeOver: true }, 12));
    expect(rules.append(second, next(renewed), 12).kind).toBe("fenced");
    expect([leases.renew(second, first, 12), leases.release(second, first)]).toEqual([null, null]);
    const other = { ...second, incarnation: "j" };
    expect(rules.append(other, { ...next(second), incarnation: "i" }, 12).kind).toBe("fenced");
    expect(rules.isLeased(leases.release(second, second) as ThreadMeta, 12)).toBe(false);
  });

  test("a claim with `takeOver` fences the worker, and a resume fences that claim", () => {
    const driven = claimed(begun());
    const lease = { owner: "a", leaseMs: 10, takeOver: false };
    expect(leases.hold(driven, lease, 3)).toEqual({ held: true });
    const held = leases.hold(driven, { ...lease, takeOver: true }, 3);
    if (!("meta" in held)) throw new Error("the claim was not taken over");
    expect(append(held.meta, next(driven)).kind).toBe("fenced");
    const request = { epoch: driven.epoch, invocation: "inv_1", pid: 7, now: 3 };
    expect(rules.claim(held.meta, request)).toEqual({ over: "superseded" });
    const resumed = rules.resume(held.meta, 4);
    if ("error" in resumed) throw new Error(resumed.error.message);
    expect(append(resumed.meta, next(held.meta)).kind).toBe("fenced");
  });

  test("accepts journal records in their order", () => {
    const meta = claimed(begun());
    const entry = { ...next(meta), record: undefined, journal: { sum: "7" }, n: 0 };
    const result = append(meta, entry);
    if (result.kind !== "done") throw new Error(result.kind);
    expect(result.meta).toMatchObject({ records: 1, journal: { records: 1, sum: "7" } });
    expect(append(result.meta, entry).kind).toBe("again");
    expect(append(result.meta, { ...entry, append: 2 }).kind).toBe("fenced");
  });

  test("obeys the rules under any sequence of requests", () => {
    const act = fc.record({
      kind: fc.constantFrom(
        "claim",
        "step",
        "wait",
        "end",
        "park",
        "pause",
        "resume",
        "takeUp",
        "answer",
        "kill",
        "hold",
        "release",
      ),
      worker: fc.nat(2),
      isStale: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        let meta = begun();
        const known: ThreadMeta[] = [];
        for (const { kind, worker, isStale } of acts) {
          const before = meta;
          const mine = isStale ? (known[worker] ?? meta) : meta;
          const changed = changeOf(kind, meta, mine);
          if (changed) meta = changed;
          if (kind === "claim" || kind === "hold") known[worker] = meta;
          expect(meta.records - before.records).toBeGreaterThanOrEqual(0);
          expect(meta.records - before.records).toBeLessThanOrEqual(1);
          expect(meta.epoch).toBeGreaterThanOrEqual(before.epoch);
          if (before.end) expect([meta.end, meta.records]).toEqual([before.end, before.records]);
          if (meta.end || meta.last?.waits) expect(meta.drive).toBeNull();
          // Only the holder of the claim may append.
          const isOurs = mine.claim === before.claim && mine.epoch === before.epoch;
          if (["step", "wait", "end"].includes(kind) && !isOurs) expect(meta).toEqual(before);
        }
      }),
      { numRuns: 500 },
    );
  });
});

function changeOf(kind: string, meta: ThreadMeta, mine: ThreadMeta): ThreadMeta | null {
  const of = (result: object): ThreadMeta | null =>
    "meta" in result ? (result.meta as ThreadMeta) : null;
  const record = { sum: "1", last: last("a") };
  switch (kind) {
    case "claim":
      return of(rules.claim(meta, { epoch: mine.epoch, invocation: "inv_1", pid: 1, now: 1 }));
    case "step":
      return of(append(meta, next(mine)));
    case "wait":
      return of(append(meta, next(mine, { record: { sum: "1", last: last("__wait__", true) } })));
    case "end":
      return of(append(meta, next(mine, { record: killedBy })));
    case "park":
      return of(park(meta, mine));
    case "hold":
      return of(leases.hold(meta, { owner: "a", leaseMs: 9, takeOver: mine === meta }, claimedAt));
    case "release":
      return leases.release(meta, mine);
    case "pause":
      return of(rules.pause(meta));
    case "resume":
      return of(rules.resume(meta, 5));
    case "takeUp":
      return of(rules.takeUp(meta, 5));
    case "answer":
      return rules.refusalOfAnswer(meta) ? null : of(rules.answer(meta, record, 5));
    default:
      return of(rules.kill(meta, killedBy));
  }
}
