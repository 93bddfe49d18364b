import { describe, expect, test } from "bun:test";
import * as rules from "./move.ts";
import * as thread from "./thread.ts";
import type { ThreadMeta } from "./thread.ts";

const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const laptop = { id: "a", name: "laptop:/root" };
const other = { id: "b", name: "other:/root" };
const waits = { role: "__wait__", timestamp: 2, waits: true, wakesAt: 9 };
const given = { threadId, hash: "EYHPV6X8XHTCS", workflow: "w", createdAt: 1, sum: "1" };
const waiting: ThreadMeta = thread.start(
  {
    ...given,
    incarnation: "i",
    records: 2,
    last: waits,
  },
  1,
).meta;
const driven: ThreadMeta = thread.start(
  {
    ...given,
    incarnation: "i",
    records: 1,
    last: null,
  },
  1,
).meta;

const leave = (meta: ThreadMeta, to = laptop, force = false) =>
  rules.leave(meta, { to, at: 5, force });
function left(meta: ThreadMeta, to = laptop): ThreadMeta {
  const result = leave(meta, to);
  if (!("meta" in result)) throw new Error("the thread did not leave");
  return result.meta;
}
const arriving = (moves: number, more: Partial<rules.ArrivingThread> = {}) => ({
  ...{ ...given, records: 4, last: waits, updatedAt: 3, batches: 1, end: null },
  ...{ moves, paused: false, ...more },
});
const arrived = (before: ThreadMeta | null, moves: number, more = {}) =>
  rules.arrive(before, arriving(moves, more), { incarnation: "j", at: 6 });
const codeOf = (result: object | null): string =>
  result && "error" in result ? (result.error as { code: string }).code : JSON.stringify(result);
const refusal = (
  meta: ThreadMeta | null,
  moves: number,
  tombstone: rules.Tombstone | null = null,
) => codeOf(rules.refusalOfArrival(threadId, meta, tombstone, moves));

describe("a thread that leaves a cluster", () => {
  test("accepts no change, and fences its worker", () => {
    const meta = left(waiting);
    expect(meta.location).toEqual({ moves: 1, host: laptop, at: 5 });
    expect(thread.standOf(meta)).toBe("moved");
    const record = { sum: "2", last: { role: "a", timestamp: 4, waits: false } };
    const refused = [
      thread.pause(meta),
      thread.resume(meta, 7),
      thread.takeUp(meta, 7),
      thread.kill(meta, record),
      thread.refusalOfAnswer(meta),
    ];
    expect(refused.map(codeOf)).toEqual(refused.map(() => "THREAD_MOVED"));
    expect(thread.expires(meta, meta.records - 1)).toBe(false);
    expect(thread.isHeldBy(meta, waiting, 1)).toBe(false);
    expect(thread.refusalOfRemoval(meta, false)).toBeNull();
  });

  test("leaves again only for the same host", () => {
    const meta = left(waiting);
    expect(leave(meta)).toEqual({ before: meta.location as never });
    expect(codeOf(leave(meta, other))).toBe("THREAD_MOVED");
  });

  test("must not be running, unless its worker is lost", () => {
    expect(codeOf(leave(driven))).toBe("THREAD_RUNNING");
    expect("meta" in leave(driven, laptop, true)).toBe(true);
    const parked: ThreadMeta = { ...driven, drive: null, pause: true };
    expect(left(parked).location?.paused).toBe(true);
  });
});

describe("a thread that arrives in a cluster", () => {
  test("keeps its status, and gets a later claim than before", () => {
    expect(thread.standOf(arrived(null, 1))).toBe("waiting");
    expect(thread.standOf(arrived(null, 1, { last: null }))).toBe("idle");
    expect(thread.standOf(arrived(null, 1, { last: null, paused: true }))).toBe("paused");
    const before = left({ ...waiting, epoch: 3, claim: 7 });
    const back = arrived(before, 2);
    expect([back.epoch, back.claim > before.claim]).toEqual([3, true]);
    expect([back.records, back.location]).toEqual([4, { moves: 2, host: null, at: 6 }]);
  });

  test("arrives once per move, and never by an older move", () => {
    expect(refusal(null, 1)).toBe("null");
    const first = arrived(null, 1);
    expect(refusal(first, 1)).toBe('{"arrived":true}');
    const away = left(first);
    expect(refusal(away, 1)).toBe("THREAD_MOVED");
    expect(refusal(away, 3)).toBe("null");
    expect(refusal(arrived(away, 3), 1)).toBe('{"arrived":true}');
    expect(refusal(waiting, 1)).toBe("THREAD_EXISTS");
    expect(refusal(null, 1, rules.tombstoneOf(first))).toBe("THREAD_MOVED");
    expect(refusal(null, 2, rules.tombstoneOf(first))).toBe("null");
  });
});
