import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { extended, seenAt, settled, type Span } from "./spans.ts";

/** What a claim has appended, in bytes, and what it has written behind that and lost; `claim` is null of another writer. */
const writes = fc.array(
  fc.record({
    isClaim: fc.boolean(),
    appended: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    lost: fc.integer({ min: 0, max: 9 }),
  }),
  { maxLength: 8 },
);

type Written = { claim: number | null; from: number; end: number; lost: number };

function written(all: { isClaim: boolean; appended: number[]; lost: number }[]) {
  let spans: readonly Span[] = [];
  let at = 0;
  const claims = all.map(({ isClaim, appended, lost }, index): Written => {
    const [claim, from] = [isClaim ? index + 1 : null, at];
    // A thread comes to wait, and others to write, by an append alone.
    const isFollowed = all[index + 1]?.isClaim === false;
    for (const bytes of isFollowed ? [...appended, 1] : appended) {
      spans = extended(spans, claim ?? undefined, at);
      at += bytes;
    }
    return { claim, from, end: at, lost: isClaim ? lost : 0 };
  });
  return { spans, claims, end: at };
}

describe("a position in a debug log that workers have written one after the other", () => {
  test("counts as far as its claim has appended, once another claim has", () => {
    fc.assert(
      fc.property(writes, (all) => {
        const { spans, claims, end } = written(all);
        for (const [index, { claim, from, end: own, lost }] of claims.entries()) {
          const isLast = claims.slice(index + 1).every((later) => later.end === later.from);
          if (claim === null || isLast) continue;
          for (let info = from; info <= own + lost; info += 1) {
            expect(settled(spans, { info, claim })).toBe(Math.min(info, own));
          }
        }
        for (let info = 0; info <= end; info += 1) {
          expect(settled(spans, seenAt(spans, info))).toBe(info);
        }
      }),
    );
  });

  test("counts as it is while nobody else has written", () => {
    const spans = extended(extended([], 1, 0), 2, 10);
    expect(settled(spans, { info: 99, claim: 2 })).toBe(99);
    expect(settled(spans, { info: 99, claim: 3 })).toBe(99);
    expect(settled(spans, { info: 12, claim: 1 })).toBe(10);
    expect(seenAt(spans, 10)).toEqual({ info: 10, claim: 1 });
    expect(seenAt(spans, 11)).toEqual({ info: 11, claim: 2 });
  });

  test("is of no claim behind what another writer has put among a claim's own bytes", () => {
    const spans = extended(extended(extended([], 1, 0), undefined, 5), 1, 9);
    expect(spans).toEqual([
      { claim: 1, from: 0 },
      { claim: null, from: 5 },
    ]);
    expect(settled(spans, { info: 20, claim: 1 })).toBe(5);
    expect(settled(spans, seenAt(spans, 12))).toBe(12);
  });
});
