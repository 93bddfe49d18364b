import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonSchema } from "./contract.ts";
import { decidedValue, decisionOf } from "./decision.ts";

const approvals = ["approve", "approved", "yes", "true"];
const rejections = ["reject", "rejected", "no", "false"];
const words = [...approvals, ...rejections];

const padding = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const styled = (word: string) =>
  fc
    .tuple(padding, padding, fc.array(fc.boolean(), { minLength: word.length }))
    .map(([before, after, upper]) => {
      const letters = word
        .split("")
        .map((letter, at) => (upper[at] ? letter.toUpperCase() : letter));
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
  ])("can be %p", (value, decision, note) => {
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

  test("is never parsed from a value without a boolean or one of these words", () => {
    const isWord = (one: unknown) =>
      typeof one === "boolean" ||
      (typeof one === "string" && words.includes(one.trim().toLowerCase()));
    const values = fc.jsonValue().filter((value) => {
      const { approved, decision } = Object(value) as Record<string, unknown>;
      return ![value, approved, decision].some(isWord);
    });
    fc.assert(fc.property(values, (value) => expect(decisionOf(value)).toBe(null)));
  });
});

describe("the value that answers a question", () => {
  const schema = { properties: { decision: { enum: ["approve", "reject"] }, note: {} } };
  const short = { properties: { decision: { enum: ["reject", "approve"] } } };

  test("to an approval is the decision, with a note if the question's schema has it", () => {
    const given = { decision: "Yes", note: "go", more: 1 };
    expect(decidedValue({ for: "approval", schema }, given)).toEqual({
      decision: "approve",
      note: "go",
    });
    expect(decidedValue({ for: "release", schema }, "no")).toEqual({
      decision: "reject",
      note: "",
    });
    expect(decidedValue({ for: "release", schema: short }, given)).toEqual({ decision: "approve" });
    for (const value of ["", "fine", {}, null, ["approve"]]) {
      expect(decidedValue({ for: "approval", schema }, value)).toBe(null);
    }
  });

  test("about a tool call is a decision, optionally with an input or a reason", () => {
    const wait = { for: "tool", schema: { properties: { approve: { type: "boolean" } } } };
    expect(decidedValue(wait, "yes")).toEqual({ approve: true });
    expect(decidedValue(wait, { decision: "reject", note: "why" })).toEqual({
      approve: false,
      reason: "why",
    });
    const edited = { approve: true, input: { n: 1 } };
    expect(decidedValue(wait, edited)).toBe(edited);
    for (const value of ["fine", {}, null, 1]) expect(decidedValue(wait, value)).toBe(null);
  });

  test("of another kind may be any value", () => {
    const others: (JsonSchema | undefined)[] = [
      undefined,
      true,
      { type: "boolean" },
      { properties: { decision: { type: "string" } } },
      { properties: { decision: { enum: ["approve", "reject", "later"] } } },
      { properties: { decision: { enum: ["approve", "reject"] }, amount: { type: "number" } } },
    ];
    for (const other of others) {
      expect(decidedValue({ for: "approval", schema: other }, "fine")).toBe(undefined);
    }
  });
});
