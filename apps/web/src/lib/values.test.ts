import { describe, expect, test } from "bun:test";
import type { TruncatedValue } from "@uncaged/workflow/records";
import { filePathOf, isTruncated, wholeOf } from "./values.ts";

const truncated = (value: unknown): TruncatedValue => {
  const json = JSON.stringify(value);
  return {
    _truncated: true,
    type: "object",
    length: json.length,
    preview: `${json.slice(0, 20)}...`,
  };
};
const steps = [
  {
    role: "a",
    content: "content of the step, rather long",
    meta: {
      plan: { files: ["one", "two", "three"] },
      variables: [{ path: ["$list"], value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], seq: 3 }],
    },
    timestamp: 0,
  },
];

const committed = { prompt: "the prompt of the thread", steps };

describe("a truncated value", () => {
  test("differs from other values and from a file", () => {
    expect(isTruncated(truncated("x"))).toBe(true);
    expect([null, "x", { _truncated: false }].some(isTruncated)).toBe(false);
    expect(filePathOf({ _file: true, path: "/a.md" })).toBe("/a.md");
    expect(filePathOf({ path: "/a.md" })).toBeNull();
  });

  test("is found in full among committed values", async () => {
    const { content, meta } = steps[0] ?? { content: "", meta: { plan: {}, variables: [] } };
    for (const value of [
      "the prompt of the thread",
      content,
      meta.plan,
      meta.variables[0]?.value,
    ]) {
      expect(await wholeOf(truncated(value), null, committed)).toEqual({ value });
    }
  });

  test("is read from the thread's store, unless the store holds another value", async () => {
    const value = { text: "kept in full, rather long" };
    const whole = (kept: object) => wholeOf(truncated(value), JSON.stringify(kept), committed);
    expect(await whole(value)).toEqual({ value });
    expect(await whole({ text: "kept in full, rather LONGER" })).toBeNull();
    expect(await whole({ text: "Kept in full, rather long" })).toBeNull();
  });

  test("is not confused with another value with the same start", async () => {
    const other = truncated("content of the step, rather LONG.");
    expect(await wholeOf(other, null, committed)).toBeNull();
  });
});
