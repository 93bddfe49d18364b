import { describe, expect, test } from "bun:test";
import type { Host, Observed } from "@uncaged/workflow/host";
import { unasked } from "./answers.ts";
import { Watcher } from "./watcher.ts";

/* Tests of the audits of answers and observers: they find planted errors. Those of logs are in workflow-restate. */

const record = (role: string, content: string, meta: object = {}) =>
  JSON.stringify({ role, content, meta, timestamp: 7 });

describe("the audit of answers", () => {
  const given = { given: ["a", "b"] };
  const slept = record("__input__", "woken", { sleep: true });
  const sound = [record("count", "0"), record("__input__", "a"), slept, record("__input__", "b")];

  test("finds nothing in a valid log", () => {
    expect(unasked(sound, given)).toEqual([]);
  });

  test.each([
    ["an answer that was never given", [...sound, record("__input__", "c")]],
    ["an answer that is there twice", [...sound, record("__input__", "a")]],
  ])("reports %s", (_, lines) => {
    expect(unasked(lines, given)).toHaveLength(1);
  });
});

describe("the audit of observers", () => {
  const ref = { hash: "1000000000001", threadId: "01KQXKW18CT8G75T53R8000001" };
  const records = ["one", "two", "three"].map((content) => record("count", content));
  const lines = [record("start", ""), ...records, record("__end__", "")];
  const stepOf = (number: number, content: string) =>
    ({ kind: "step", number, step: JSON.parse(record("count", content)), cursor: "" }) as unknown;
  const end = { kind: "end", cursor: "" } as unknown;
  const [one, two, three] = [stepOf(1, "one"), stepOf(2, "two"), stepOf(3, "three")];

  async function found(items: readonly unknown[]): Promise<string[]> {
    const host = {
      async *observe() {
        yield* items as Observed[];
      },
    };
    return await new Watcher(host as unknown as Host, ref).differences(lines, 20);
  }

  test("finds nothing when all steps were received", async () => {
    expect(await found([one, two, three, end])).toEqual([]);
  });

  test.each([
    ["a lost step", [one, three, end], /place 1/],
    ["a lost last step", [one, two, end], /received 2 of 3 steps/],
    ["a doubled step", [one, two, two, three, end], /place 2/],
    ["a step that is gone", [one, stepOf(2, "gone"), three, end], /gone.* place 1/],
    ["a step with the number of another", [one, stepOf(3, "two"), three, end], /place 1/],
    ["a step after the last", [one, two, three, stepOf(4, "four"), end], /place 3/],
    ["a missing end", [], /never received the end/],
  ] as const)("reports %s", async (_, items, expected) => {
    expect((await found(items)).join("\n")).toMatch(expected);
  });
});
