import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "../contract/error.ts";
import { type Keep, keptSteps } from "../record/selection.ts";

const steps = ["plan", "code", "review", "code", "a#2", "review"].map((role, n) => ({
  role,
  content: String(n),
  meta: {},
  timestamp: n,
}));
const kept = (keep?: Keep) => keptSteps(steps, keep);
function refusal(keep: Keep): string {
  try {
    return JSON.stringify(kept(keep));
  } catch (error) {
    return isWorkflowError(error) ? `${error.kind} ${error.code}` : String(error);
  }
}

describe("the steps that a fork keeps", () => {
  test("are all but the last by default", () => {
    expect(kept()).toEqual([0, 1, 2, 3, 4]);
    expect(keptSteps([])).toEqual([]);
  });

  test("end at a role's last step, or at its numbered step", () => {
    expect(kept({ fromRole: "code" })).toEqual([0, 1, 2, 3]);
    expect(kept({ fromRole: "code#1" })).toEqual([0, 1]);
    expect(kept({ fromRole: "code#2" })).toEqual([0, 1, 2, 3]);
  });

  test("end at a role with a number in its name", () => {
    expect(kept({ fromRole: "a#2" })).toEqual([0, 1, 2, 3, 4]);
  });

  test("are the first N", () => {
    expect(kept({ atStep: 0 })).toEqual([]);
    expect(kept({ atStep: 6 })).toHaveLength(6);
  });

  test("are the given list", () => {
    expect(kept({ steps: [0, 2, 5] })).toEqual([0, 2, 5]);
    expect(kept({ steps: [] })).toEqual([]);
  });

  for (const atStep of [-1, 7, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    test(`can't be the first ${atStep}`, () => {
      expect(refusal({ atStep })).toBe("missing NO_SUCH_STEP");
    });
  }

  for (const list of [[6], [-1], [1, 1], [2, 1], [0.5], [Number.NaN]]) {
    test(`can't be the list ${list.join()}`, () => {
      expect(refusal({ steps: list })).toBe("missing NO_SUCH_STEP");
    });
  }

  test("can't end at a role missing in the thread", () => {
    expect(refusal({ fromRole: "nobody" })).toBe("missing NO_SUCH_ROLE");
    expect(refusal({ fromRole: "" })).toBe("missing NO_SUCH_ROLE");
    expect(refusal({ fromRole: "code#0" })).toBe("missing NO_SUCH_ROLE");
    expect(refusal({ fromRole: "code#3" })).toBe("missing NO_SUCH_STEP");
  });

  test("can't end at a misspelt role, whose hint is the most similar role", () => {
    expect(() => kept({ fromRole: "reveiw#1" })).toThrow(
      expect.objectContaining({ hint: "did you mean review?" }),
    );
    expect(() => kept({ fromRole: "nobody" })).toThrow(
      expect.objectContaining({ hint: "use one of its roles: plan, code, review, a#2" }),
    );
  });
});
