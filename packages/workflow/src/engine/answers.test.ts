import { describe, expect, test } from "bun:test";
import { INPUT, type Step } from "../contract/contract.ts";
import { Answers } from "./answer.ts";

const answered = (requestId: string): Step => ({
  role: INPUT,
  content: "yes",
  meta: { requestId },
  timestamp: 1,
});

function answers(steps: Step[] = []) {
  const refused: [string | null, string][] = [];
  let taken = 0;
  let refusal: string | undefined;
  const parts = {
    judge: async () => ({ validate: () => null }),
    now: () => 1,
    note: () => undefined,
    onRefused: (stepID: string | null, reason: string) => void refused.push([stepID, reason]),
  };
  const given = new Answers(steps, parts, {
    threadId: "T",
    commit: async (output) => {
      await Promise.resolve();
      if (refusal) throw new Error(refusal);
      taken += 1;
      return { ...output, timestamp: 1 };
    },
    onBroken: () => undefined,
  });
  const give = (requestId?: string, reason?: string) => {
    refusal = reason;
    given.ask({ for: "pause", stepID: "Pause_A" });
    return given.give({ content: "yes", meta: { requestId } }).then(
      () => "taken",
      (error: Error) => error.message,
    );
  };
  return { give, refused, taken: () => taken };
}

describe("answers", () => {
  test("with the same request id are one, also when both come at once", async () => {
    const { give, taken } = answers();
    expect(await Promise.all([give("a"), give("a")])).toEqual(["taken", "taken"]);
    expect(await give("a", "it is over")).toBe("taken");
    expect(taken()).toBe(1);
  });

  test("whose request id the log has are taken already", async () => {
    const { give, taken } = answers([answered("a")]);
    expect(await give("a", "nobody asks")).toBe("taken");
    expect(taken()).toBe(0);
  });

  test("without a request id, or with another, are each judged", async () => {
    const { give, taken } = answers([answered("a")]);
    await give();
    await give();
    await give("b");
    expect(taken()).toBe(3);
  });

  test("that are refused are reported with the question's step, and may be given again", async () => {
    const { give, refused } = answers();
    expect(await give("a", "the token is wrong")).toBe("the token is wrong");
    expect(refused).toEqual([["Pause_A", "the token is wrong"]]);
    expect(await give("a")).toBe("taken");
  });
});
