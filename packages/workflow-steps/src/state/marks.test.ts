import { describe, expect, test } from "bun:test";
import { outlineOf } from "../document/outline.ts";
import { marksOf, positionFrom } from "./marks.ts";

const rows = outlineOf({
  steps: [
    { id: "Loop_1", source: "=rows", children: ["Branch_14"], next: "RETURN" },
    { id: "Branch_14", cases: [["ELSE", "Loop_19"]], next: "Fork_15" },
    { id: "Loop_19", source: "=_item.sub", children: ["Set_20"], next: "RETURN" },
    { id: "Set_20", target: "$n", next: "RETURN" },
    { id: "Fork_15", children: ["Set_A", "Set_B"], next: "Branch_2" },
    { id: "Set_A", target: "$a", next: "RETURN" },
    { id: "Set_B", target: "$b", next: "RETURN" },
    { id: "Branch_2", cases: [["ELSE", "Set_C"]], next: "RETURN" },
    { id: "Set_C", target: "$c", next: "RETURN" },
  ],
});

describe("the position of a checkpoint", () => {
  test("has the marks of an open iteration at its path", () => {
    const completedBranches = { Fork_15: ["Set_A"] };
    const marks = { completedBranches, loopProgress: { Loop_1: 1 } };
    const position = positionFrom(rows, "Loop_1", marks);
    const loop = position.insides.get("Loop_1");
    expect(loop).toMatchObject({ finished: 1 });
    const chain = loop?.chains.get("1/Branch_14");
    expect(chain?.next).toBe("Branch_14");
    expect(chain?.insides.get("Fork_15")?.chains.get("Set_A")?.next).toBe("RETURN");
    expect(marksOf(rows, position)).toEqual(marks);
  });

  test("has no mark of a loop in a finished arm", () => {
    const completedBranches = { Branch_14: ["Loop_19"] };
    const loopProgress = { Loop_1: 1, Loop_19: 1 };
    const position = positionFrom(rows, "Loop_1", { completedBranches, loopProgress });
    expect(marksOf(rows, position)).toEqual({ completedBranches, loopProgress: { Loop_1: 1 } });
  });

  test("has no mark of a construct with two places or in concurrent iterations", () => {
    const outline = outlineOf({
      steps: [
        { id: "Fork_A", children: ["Set_1", "Set_2", "Loop_P"], next: "RETURN" },
        { id: "Set_1", target: "$a", next: "Loop_B" },
        { id: "Set_2", target: "$b", next: "Loop_B" },
        { id: "Loop_B", source: [1, 2], children: ["Set_3"], next: "RETURN" },
        { id: "Set_3", target: "$c", next: "RETURN" },
        { id: "Loop_P", source: [1], mode: "parallel", children: ["Loop_I"], next: "RETURN" },
        { id: "Loop_I", source: [1, 2], children: ["Set_4"], next: "RETURN" },
        { id: "Set_4", target: "$d", next: "RETURN" },
      ],
    });
    const loopProgress = { Loop_B: 1, Loop_I: 1 };
    const position = positionFrom(outline, "Fork_A", { completedBranches: {}, loopProgress });
    expect(marksOf(outline, position)).toEqual({ completedBranches: {}, loopProgress: {} });
  });
});
