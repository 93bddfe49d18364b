import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExpressionError } from "../expression/error.ts";
import { outEntries } from "./out.ts";
import { resolveTarget } from "./resolve.ts";
import { expressionsIn, parseTarget } from "./target.ts";

const values: Record<string, unknown> = {
  $id: "x.y",
  $n: 4,
  $key: "__proto__",
  $o: { path: "deep", list: [7] },
  $none: null,
  _index: 2,
  _item: { id: 9, name: "a b", on: true },
};
const scope = (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined);
const place = (text: string) => resolveTarget(parseTarget(text), scope).path;

describe("a variable as target", () => {
  test.each([
    ["$r", ["$r"]],
    ["$r.a[0].b", ["$r", "a", 0, "b"]],
    ["$a[_index]", ["$a", 2]],
    ["$a[_index + 1].x", ["$a", 3, "x"]],
    ["$a[$o.list[0]]", ["$a", 7]],
    ["$a['0']", ["$a", "0"]],
    ["$a['b]}c']", ["$a", "b]}c"]],
    ["$m.{$id}", ["$m", "x.y"]],
    ["$m.user_{_item.id}-{_index}.z", ["$m", "user_9-2", "z"]],
    ["$m.{'}'}", ["$m", "}"]],
    ["$m.{_index}", ["$m", "2"]],
    ["$m.a-b", ["$m", "a-b"]],
    ["$计划.標題", ["$计划", "標題"]],
  ])("%s is %p", (text, path) => {
    expect(place(text)).toEqual(path as never);
  });
});

describe("a file as target", () => {
  test.each([
    ["/a.md", "a.md"],
    ["/out/{_item.name}_{$o.path}.md", "out/a b_deep.md"],
    ["/out/[_index].md", "out/2.md"],
    ["/app/[id]/page[1].tsx", "app/[id]/page[1].tsx"],
    ["/{'[_index]'}[_index]", "[_index]2"],
  ])("%s is %p", (text, path) => {
    expect(place(text)).toBe(path);
  });
});

test.each([
  ["", "neither"],
  ["x", "neither"],
  ["$", "neither"],
  ["=$x", "neither"],
  ["../x", "neither"],
  ["/", "no name"],
  ["$a.", "a key must follow"],
  ["$a..b", "a key must follow"],
  ["$a b", "stands where"],
  ["$a{_index}", "stands where"],
  ["$a[0", 'the "[" has no "]"'],
  ["$a['0]", "offset 3: the text that begins here has no end"],
  ["$a.{_item", 'the "{" has no "}"'],
  ["/x{_item", 'the "{" has no "}"'],
  ["$a[]", "offset 3: a value is missing"],
  ["/x{1 +}", "offset 6: a value is missing"],
  ["$a.__proto__.x", "__proto__ is refused"],
  ["$a.b.constructor", "constructor is refused"],
  ["$a.prototype", "prototype is refused"],
  [`$a${".b".repeat(101)}`, "more than 100 keys"],
  [`/${"a".repeat(10_000)}`, "more than 10000 characters"],
])("the target %p is refused", (text, message) => {
  expect(() => parseTarget(text)).toThrow(message);
});

test.each([
  ["$a.{$none}", "{$none} is without a value"],
  ["$a.{$missing.x}", "{$missing.x} is without a value"],
  ["/out/{$o}.md", "{$o} is of type object"],
  ["/out/{$o.list}.md", "{$o.list} is an array"],
  ["/{''}", "empty"],
  ["$a.{''}", "empty"],
  ["$a[$missing]", "[$missing] is without a value"],
  ["$a[-1]", "is -1"],
  ["$a[0.5]", "is 0.5"],
  ["$a[_item.on]", "of type boolean"],
  ["$a['']", "an empty text"],
  ["$a.{$key}", "__proto__ is refused"],
  ["$a[$key].polluted", "__proto__ is refused"],
])("the target %p names no place", (text, message) => {
  expect(() => place(text)).toThrow(message);
});

test("a placeholder that can't be evaluated is an expression's error", () => {
  expect(() => place("$a[1 / 0]")).toThrow(ExpressionError);
});

test("the expressions in a target are told", () => {
  expect(expressionsIn(parseTarget("$a[_index].b_{$x}.c[0]"))).toEqual(["_index", "$x", "0"]);
  expect(expressionsIn(parseTarget("/{_item.a}/[_index]"))).toEqual(["_item.a", "_index"]);
});

test("any text is a target or one error that says so", () => {
  const pieces = fc.constantFrom(
    "$",
    "a",
    ".",
    "[",
    "]",
    "{",
    "}",
    "'",
    "/",
    "_index",
    " ",
    "0",
    "\\",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((all) => all.join("")),
      ),
      (text) => {
        try {
          resolveTarget(parseTarget(text), scope);
        } catch (error) {
          expect(error).toMatchObject({
            name: expect.stringMatching(/^(Workflow|Expression)Error$/),
          });
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test("an out is its targets with what they get", () => {
  expect(outEntries(undefined)).toEqual([]);
  expect(outEntries("$x")).toEqual([["$x", "=_result"]]);
  expect(outEntries({ $x: "=_result.a", "/f": null })).toEqual([
    ["$x", "=_result.a"],
    ["/f", null],
  ]);
  expect(() => outEntries(["$x"])).toThrow("out is an array");
  expect(() => outEntries(3)).toThrow("out is a number");
});
