import { describe, expect, test } from "bun:test";
import { INPUT, type Step } from "../contract/contract.ts";
import type { JsonSchema } from "../contract/contract.ts";
import { compileForAnswer } from "../bundle/schema.ts";
import { Answers, readAnswer } from "./answer.ts";

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
    judge: async () => ({ validate: (value: unknown) => (value === "no" ? "it says no" : null) }),
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
  let asked = 0;
  const give = (requestId?: string, reason?: string) => {
    refusal = reason;
    given.ask({ for: "pause", stepID: "Pause_A" }, (asked += 1));
    return given.give({ content: "yes", meta: { requestId } }).then(
      () => "taken",
      (error: Error) => error.message,
    );
  };
  /** Sends several concurrent answers to one question. */
  const giveAll = (...values: string[]) => {
    given.ask({ for: "pause", stepID: "Pause_A", schema: true }, (asked += 1));
    const outcomes = values.map((value) =>
      given.give({ content: value, value }).then(
        () => "taken",
        (error: { code?: string }) => error.code,
      ),
    );
    return Promise.all(outcomes);
  };
  return { given, give, giveAll, refused, taken: () => taken };
}

describe("answers", () => {
  test("with the same request id count once, even when concurrent", async () => {
    const { give, taken } = answers();
    expect(await Promise.all([give("a"), give("a")])).toEqual(["taken", "taken"]);
    expect(await give("a", "it is over")).toBe("taken");
    expect(taken()).toBe(1);
  });

  test("with a request id in the log are already accepted", async () => {
    const { give, taken } = answers([answered("a")]);
    expect(await give("a", "nobody asks")).toBe("taken");
    expect(taken()).toBe(0);
  });

  test("without a request id, or with different ids, are each checked", async () => {
    const { give, taken } = answers([answered("a")]);
    await give();
    await give();
    await give("b");
    expect(taken()).toBe(3);
  });

  test("that arrive during a check are checked in turn until one is accepted", async () => {
    const { giveAll, taken } = answers();
    expect(await giveAll("no", "no", "yes", "no", "yes")).toEqual([
      ...["ANSWER_INVALID", "ANSWER_INVALID", "taken"],
      ...["NOT_WAITING", "NOT_WAITING"],
    ]);
    expect(taken()).toBe(1);
  });

  test("to a question do not answer the next question", async () => {
    const { giveAll, taken } = answers();
    const first = giveAll("yes", "yes");
    expect(await Promise.all([first, giveAll("no", "yes")])).toEqual([
      ["taken", "NOT_WAITING"],
      ["ANSWER_INVALID", "taken"],
    ]);
    expect(taken()).toBe(2);
  });

  test("to a closed question are refused, even together with an answer to the open question", async () => {
    const { given, taken } = answers();
    const give = (number: number, requestId?: string) =>
      given.give({ content: `to ${number}`, meta: { requestId } }, number).then(
        () => "taken",
        (error: { code?: string }) => error.code,
      );
    given.ask({ for: "first" }, 3);
    expect(await Promise.all([give(1), give(3, "a"), give(3)])).toEqual([
      "STALE_ANSWER",
      "taken",
      "NOT_WAITING",
    ]);
    given.ask({ for: "second" }, 5);
    expect(await Promise.all([give(3), give(3, "a"), give(5), give(3)])).toEqual([
      "STALE_ANSWER",
      "taken",
      "taken",
      "NOT_WAITING",
    ]);
    expect(taken()).toBe(2);
  });

  test("that are refused are reported with the question's step, and can be repeated", async () => {
    const { give, refused } = answers();
    expect(await give("a", "the token is wrong")).toBe("the token is wrong");
    expect(refused).toEqual([["Pause_A", "the token is wrong"]]);
    expect(await give("a")).toBe("taken");
  });
});

describe("the text of an answer", () => {
  const read = async (schema: JsonSchema | undefined, content: string) => {
    const wait = { for: "it", ...(schema !== undefined && { schema }) };
    const { input, violation } = await readAnswer(wait, { content }, compileForAnswer);
    return violation ?? (input.value === undefined ? content : { json: input.value });
  };
  const string = { type: "string" };

  test("without a schema is parsed as exact JSON, or else stays text", async () => {
    for (const schema of [undefined, true, {}, { description: "anything" }]) {
      for (const json of [{ ok: true }, [1, "a"], false, null, 5, Number.MAX_SAFE_INTEGER])
        expect(await read(schema, JSON.stringify(json))).toEqual({ json });
      for (const text of ["yes", '"yes"', "007", "1.0", "12345678901234567890"])
        expect(await read(schema, text)).toBe(text);
    }
  });

  test("stays text for a schema that accepts text", async () => {
    for (const text of ["5", "007", "true", "null", '{"a":1}', '"quoted"', ""]) {
      expect(await read(string, text)).toBe(text);
      expect(await read({ type: ["string", "number"] }, text)).toBe(text);
      expect(await read({ anyOf: [string, { type: "number" }] }, text)).toBe(text);
    }
    expect(await read({ enum: ["1", 1] }, "1")).toBe("1");
    expect(await read({ ...string, minLength: 3 }, "12")).toContain("3 characters");
  });

  test("is parsed as JSON for a schema that does not accept text", async () => {
    expect(await read({ type: "number" }, "1.0")).toEqual({ json: 1 });
    expect(await read({ type: "boolean" }, "true")).toEqual({ json: true });
    expect(await read({ enum: ["yes", "no"] }, '"yes"')).toEqual({ json: "yes" });
    expect(await read({ type: "array", items: string }, '["1"]')).toEqual({ json: ["1"] });
    expect(await read({ type: "number", maximum: 5 }, "7")).toContain("5");
    expect(await read({ type: "object" }, "{action:remove}")).toBe(
      "value must be object, and the text is not JSON",
    );
    expect(await read({ enum: ["yes", "no"] }, "maybe")).toBe('value must be "yes" or "no"');
  });
});

test("an answer with a number that would be rounded is refused", async () => {
  const violation = async (schema: JsonSchema, content: string) =>
    (await readAnswer({ for: "it", schema }, { content }, compileForAnswer)).violation;
  const inexact = "the number 12345678901234567890 can't be kept exactly";
  expect(await violation({ type: "object" }, '{"id":12345678901234567890}')).toContain(inexact);
  expect(await violation({ type: "integer" }, "12345678901234567890")).toContain(inexact);
  expect(await violation({ type: "string" }, "12345678901234567890")).toBeNull();
  expect(await violation({ type: "object" }, "id 12345678901234567890")).toContain("object");
});
