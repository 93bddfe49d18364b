import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decisionOf } from "./decision.ts";

const approvals = ["approve", "approved", "yes", "true"];
const rejections = ["reject", "rejected", "no", "false"];
const words = [...approvals, ...rejections];

const padding = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const styled = (word: string) =>
  fc
    .tuple(padding, padding, fc.array(fc.boolean(), { minLength: word.length }))
    .map(([before, after, upper]) => {
      const letters = [...word].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter));
      return `${before}${letters.join("")}${after}`;
    });

describe("a decision", () => {
  test.each(words)("is the word %s, as a text or in an object, in any case", (word) => {
    const decision = approvals.includes(word) ? "approve" : "reject";
    fc.assert(
      fc.property(styled(word), fc.string(), (text, note) => {
        expect(decisionOf(text)).toEqual({ decision, note: "" });
        expect(decisionOf({ decision: text, note })).toEqual({ decision, note });
      }),
    );
  });

  test.each([
    [true, "approve", ""],
    [false, "reject", ""],
    [{ approved: true }, "approve", ""],
    [{ approved: false, note: "why" }, "reject", "why"],
    [{ decision: true }, "approve", ""],
    [{ decision: "approve", approved: true }, "approve", ""],
    [{ decision: "Rejected", approved: false }, "reject", ""],
    [{ decision: "reject", note: 7 }, "reject", ""],
    [{ decision: "approve", more: "is ignored" }, "approve", ""],
  ])("is %p", (value, decision, note) => {
    expect(decisionOf(value) as unknown).toEqual({ decision, note });
  });

  const others: unknown[] = [
    "",
    " ",
    "Please REJECT this",
    "yes, but later",
    "not approved",
    "y",
    "ok",
    null,
    undefined,
    0,
    1,
    {},
    { decision: "" },
    { decision: "–" },
    { decision: null },
    { decision: 5 },
    { decision: ["approve"] },
    { decision: { decision: "approve" } },
    { approved: "yes" },
    { approved: 1 },
    { approved: null },
    { approve: true },
    { note: "approve" },
    { decision: "approve", approved: false },
    { decision: "reject", approved: true },
    { decision: "approve", approved: "yes" },
    { decision: null, approved: true },
    ["approve"],
    [],
  ];

  test.each(others.map((value) => [JSON.stringify(value), value]))("is not %s", (_, value) => {
    expect(decisionOf(value)).toBe(null);
  });

  test("is nothing but these words and booleans", () => {
    const values = fc.jsonValue().filter((value) => {
      const { approved, decision } = Object(value) as Record<string, unknown>;
      return [value, approved, decision].every(
        (one) => typeof one !== "boolean" && !words.includes(String(one).trim().toLowerCase()),
      );
    });
    fc.assert(fc.property(values, (value) => expect(decisionOf(value)).toBe(null)));
  });
});
