import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow/host";
import { type Cut, mostNamed, parsePlace, showCut, showWay } from "./cut.ts";

const a = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const b = "01JD0Q8ZC4T9M2V6X5B7N3K1RA";
const cut = (time: number, whole: boolean, ...names: string[]): Cut => ({
  ...{ time, whole },
  told: new Map(names.map((name, at) => [name, { data: at, info: 1000 + at }])),
});

describe("an id", () => {
  test("is read as it was written: a cut, or a place between two", () => {
    for (const one of [cut(0, true), cut(1732258043123, false), cut(9, true, a, b)]) {
      expect(parsePlace(showCut(one))).toEqual({ cut: one, way: null });
      const to = cut(10, false, b);
      const position = { data: 5, info: 6 };
      expect(parsePlace(showWay(showCut(one), showCut(to), a, position))).toEqual({
        cut: one,
        way: { to, threadId: a, position },
      });
    }
    expect(showCut(cut(7, true, a))).toBe(`7,${a}:d0.i1000`);
  });

  test("is refused when it is none", () => {
    const wrong = [
      ...["", "x", "-1", "1e3", "1.5", "1~~", "1,", `1,${a}`, `1,${a}:x`, `1,x:d1.i1`, "d1.i1"],
      ...["1/2", `1/2/${a}`, `1/2/3/${a}:d1.i1`, `1//${a}:d1.i1`, `1,${a}:d1.i1:9`, "1".repeat(16)],
      ...["lq2x.17", `1${`,${a}:d1.i1`.repeat(1000)}`, "1\u0000"],
    ];
    for (const id of wrong) {
      let code = "nothing";
      try {
        parsePlace(id);
      } catch (error) {
        code = isWorkflowError(error) ? error.code : String(error);
      }
      expect(`${id.slice(0, 50)}: ${code}`).toBe(`${id.slice(0, 50)}: BAD_POSITION`);
    }
  });

  test("fits in a header with all that it may name, and twice as it does on the way", () => {
    const most = { data: 10 ** 9, info: 268_435_456 };
    const full: Cut = {
      ...{ time: 1732258043123, whole: false },
      told: new Map(Array.from({ length: mostNamed }, (_, n) => [a.slice(0, 24) + (n + 10), most])),
    };
    const text = showCut(full);
    expect(showWay(text, text, a, most).length).toBeLessThan(4.5 * 1024);
  });
});
