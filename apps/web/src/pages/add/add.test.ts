import { describe, expect, test } from "bun:test";
import { ApiError } from "../../lib/request.ts";
import { problemsOf } from "./add-page.tsx";
import { kindOf, nameFor, sentNameOf } from "./file.ts";

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
  new ApiError(400, { code: "BUNDLE_REFUSED", message, hint: null, details });

describe("a problem of a file", () => {
  test("has a line and a column, in order", () => {
    const error = refusal("a.ts:9:1: late, and 1 more", ["a.ts:9:1: late", "a.ts:2:14: early"]);
    expect(problemsOf(error, "a.ts")).toEqual([
      { line: 2, column: 14, message: "early" },
      { line: 9, column: 1, message: "late" },
    ]);
  });

  test.each(["it is too big", "b.ts:1:1: elsewhere", "a.ts: it ends at once"])(
    "may have no position in the file: %s",
    (message) => {
      const [problem] = problemsOf(refusal(message), "a.ts");
      expect(problem).toEqual({
        ...{ line: null, column: null },
        message: message.replace("a.ts: ", ""),
      });
    },
  );
});
