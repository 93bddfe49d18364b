import { describe, expect, test } from "bun:test";
import { ApiError } from "../api/request.ts";
import { kindOf, nameFor, sentNameOf } from "./file.ts";
import { excerptsOf, problemsOf } from "./problems.ts";

describe("a file", () => {
  test.each([
    ["review.esm.js", "bundle", "review"],
    ["My Review (2).ts", "source", "my-review-2"],
    ["flow.json", "steps", "flow"],
    ["flow.YAML", "steps", "flow"],
    ["types.d.ts", null, "types.d"],
    ["notes.txt", null, "notes.txt"],
  ])("%s is a %s and suggests the name %s", (file, kind, name) => {
    expect(kindOf(file)).toBe(kind as ReturnType<typeof kindOf>);
    expect(nameFor(file)).toBe(name);
  });

  test("is sent under a plain name", () => {
    expect(sentNameOf("My Review.ts")).toBe("My-Review.ts");
    expect(sentNameOf("../.x.ts")).toBe("x.ts");
  });
});

const refusal = (message: string, details?: string[]) =>
  new ApiError(409, { code: "BUNDLE_REFUSED", message, hint: null, details });

describe("what is wrong with a file", () => {
  test("is told by line and column, in order", () => {
    const error = refusal("a.ts:9:1: late, and 1 more", ["a.ts:9:1: late", "a.ts:2:14: early"]);
    expect(problemsOf(error, "a.ts")).toEqual([
      { line: 2, column: 14, message: "early" },
      { line: 9, column: 1, message: "late" },
    ]);
  });

  test("may have no place", () => {
    expect(problemsOf(refusal("it is too big"), "a.ts")).toEqual([
      { line: null, column: null, message: "it is too big" },
    ]);
    expect(problemsOf(refusal("a.ts: it ends at once"), "a.ts")).toMatchObject([
      { line: null, message: "it ends at once" },
    ]);
  });

  test("is shown with the lines around it, near ones together", () => {
    const at = (line: number) => ({ line, column: 1, message: "" });
    const excerpts = excerptsOf([at(1), at(4), at(20), at(99)], 21);
    expect(excerpts.map(({ from, to, problems }) => [from, to, problems.length])).toEqual([
      [1, 6, 2],
      [18, 21, 1],
    ]);
  });
});
