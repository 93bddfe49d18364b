import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { continued, extended, inCopy, isLost, recordedOf, seenAt, type Span } from "./spans.ts";

/**
 * Batches of successive claims, batches of other writers in between, and the number of lost bytes at the end of each
 * claim.
 */
const claims = fc.array(
  fc.record({
    batches: fc.array(fc.record({ isOwn: fc.boolean(), bytes: fc.integer({ min: 1, max: 6 }) }), {
      maxLength: 5,
    }),
    lost: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 1, maxLength: 5 },
);

type Claims = { batches: { isOwn: boolean; bytes: number }[]; lost: number }[];

/** Returns the spans of a mirror, and the named bytes of the cluster's log and of each claim's copy. */
function written(all: Claims) {
  let spans: readonly Span[] = [];
  const log: string[] = [];
  const copies = all.map(({ batches, lost }, index) => {
    const claim = index + 1;
    const copy = [...log];
    for (const [number, { isOwn, bytes }] of batches.entries()) {
      const batch = Array.from({ length: bytes }, (_, at) => `${claim} ${number} ${at}`);
      const writer = isOwn ? { claim, at: copy.length } : {};
      spans = extended(spans, writer, log.length);
      log.push(...batch);
      if (isOwn) copy.push(...batch);
    }
    const recorded = copy.length;
    for (let at = 0; at < lost; at += 1) copy.push(`${claim} lost ${at}`);
    return { claim, copy, recorded, from: copy.length - recorded };
  });
  return { spans, log, copies };
}

describe("a position in a debug log with successive writers", () => {
  test("refers to the same byte in the cluster's log, or to the last recorded byte of its claim", () => {
    fc.assert(
      fc.property(claims, (all) => {
        const { spans, log, copies } = written(all);
        for (const { claim, copy, recorded } of copies) {
          const own = copy.findIndex(
            (byte) => byte.startsWith(`${claim} `) && !byte.includes("lost"),
          );
          if (own < 0) continue;
          for (let info = own + 1; info <= copy.length; info += 1) {
            const at = recordedOf(spans, log.length, { info, claim });
            expect(log[at - 1]).toBe(copy[Math.min(info, recorded) - 1] ?? "");
          }
        }
        for (let info = 1; info <= log.length; info += 1) {
          const seen = seenAt(spans, info);
          expect(recordedOf(spans, log.length, seen)).toBe(info);
          const copy = copies.find(({ claim }) => claim === seen.claim)?.copy ?? log;
          expect(copy[seen.info - 1]).toBe(log[info - 1] ?? "");
        }
      }),
    );
  });

  test("is lost after the recorded bytes once a later claim is known, even if that claim has written nothing", () => {
    const one = extended([], { claim: 1, at: 0 }, 0);
    expect(isLost(continued(one, 1, 10), { info: 12, claim: 1 })).toBe(false);
    const two = continued(one, 2, 10);
    expect(isLost(two, { info: 12, claim: 1 })).toBe(true);
    expect(recordedOf(two, 10, { info: 12, claim: 1 })).toBe(10);
    expect(recordedOf(two, 10, { info: 12, claim: 2 })).toBe(10);
    expect(recordedOf(one, 10, { info: 12, claim: 2 })).toBe(10);
  });

  test("is found in a worker's copy even if other writers' bytes are in between", () => {
    const first = extended([], { claim: 1, at: 0 }, 0);
    const between = extended(first, {}, 5);
    expect(inCopy(between, 1, 5)).toBe(5);
    expect(inCopy(between, 1, 8)).toBe(5);
    const next = continued(between, 1, 9);
    expect(next.at(-1)).toEqual({ claim: 1, from: 9, before: 4 });
    expect(inCopy(next, 1, 12)).toBe(8);
    expect(inCopy(continued(next, 2, 12), 2, 12)).toBe(12);
    expect(extended(between, { claim: 1, at: 5 }, 9)).toEqual(next);
  });
});
