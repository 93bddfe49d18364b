import { expect, test } from "bun:test";
import { files, lineAt, type Node, readSource } from "./source.ts";

/** Tags of the debug log, by call site. */
const tags = files("packages/workflow/src/**/*.ts")
  .filter((path) => !path.endsWith(".test.ts"))
  .map(readSource)
  .flatMap(({ path, text, nodes }) =>
    nodes
      .filter(({ type }) => type === "CallExpression")
      .flatMap(({ start, callee, arguments: given }) => {
        const { type, property, object, name } = callee as Node;
        const [first] = given as Node[];
        const called = type === "MemberExpression" ? (property as Node).name : name;
        const owner = type === "MemberExpression" ? (object as Node).name : undefined;
        const value = first?.value;
        if (!["log", "note", "event"].includes(called as string)) return [];
        if (typeof value !== "string" || owner === "console" || owner === "Math") return [];
        return [{ tag: value, at: `${path}:${lineAt(text, start)}` }];
      }),
  );

test("each tag of the debug log is eight Crockford Base32 digits, and has one call site", () => {
  expect(tags).not.toBeEmpty();
  expect(tags.filter(({ tag }) => !/^[0-9A-HJKMNP-TV-Z]{8}$/.test(tag))).toEqual([]);
  const places = Map.groupBy(tags, ({ tag }) => tag);
  expect([...places.values()].filter((uses) => uses.length > 1)).toEqual([]);
});
