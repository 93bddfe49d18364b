import { describe, expect, test } from "bun:test";
import type { Host, Observed } from "@uncaged/workflow/host";
import { unasked } from "./answers.ts";
import { Watcher } from "./watcher.ts";

/* Tests that the audits of answers and observers find planted errors. The audit of logs is in workflow-restate. */

const record = (role: string, content: string, meta: object = {}) =>
  JSON.stringify({ role, content, meta, timestamp: 7 });

describe("the audit of answers", () => {
  const given = { given: ["a", "b"] };
  const slept = record("__input__", "woken", { sleep: true });
  const sound = [record("count", "0"), record("__input__", "a"), slept, record("__input__", "b")];

  test("reports nothing for a valid log", () => {
    expect(unasked(sound, given)).toEqual([]);
  });

  test.each([
    ["an answer that was never given", [...sound, record("__input__", "c")]],
    ["a repeated answer", [...sound, record("__input__", "a")]],
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

  test("reports nothing if the observer received all steps", async () => {
    expect(await found([one, two, three, end])).toEqual([]);
  });

  test.each([
    ["a lost step", [one, three, end], /position 1/],
    ["a lost last step", [one, two, end], /received 2 of 3 steps/],
    ["a duplicate step", [one, two, two, three, end], /position 2/],
    [
      "a step that the log does not have",
      [one, stepOf(2, "gone"), three, end],
      /gone.* position 1/,
    ],
    ["a step with a wrong number", [one, stepOf(3, "two"), three, end], /position 1/],
    ["a step after the last", [one, two, three, stepOf(4, "four"), end], /position 3/],
    ["a missing end", [], /never received the end/],
  ] as const)("reports %s", async (_, items, expected) => {
    expect((await found(items)).join("\n")).toMatch(expected);
  });
});
