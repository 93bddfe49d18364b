import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ExpressionError } from "../expression/parse.ts";
import { expressionsIn, outEntries, parseTarget, resolveTarget, setPath } from "./target.ts";

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
const place = (text: string) => resolveTarget(text, scope).path;

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
  ["", "not a $variable or a /path"],
  ["x", "not a $variable or a /path"],
  ["$", "not a $variable or a /path"],
  ["=$x", "not a $variable or a /path"],
  ["../x", "not a $variable or a /path"],
  ["/", "missing name"],
  ["$a.", 'missing key after "."'],
  ["$a..b", 'missing key after "."'],
  ["$a b", "expected a .key or an [index]"],
  ["$a{_index}", "expected a .key or an [index]"],
  ["$a[0", 'missing closing "]"'],
  ["$a['0]", "offset 3: unterminated string"],
  ["$a.{_item", 'missing closing "}"'],
  ["/x{_item", 'missing closing "}"'],
  ["$a[]", "offset 3: missing value"],
  ["/x{1 +}", "offset 6: missing value"],
  ["$a.__proto__.x", "__proto__ is not allowed"],
  ["$a.b.constructor", "constructor is not allowed"],
  ["$a.prototype", "prototype is not allowed"],
  [`$a${".b".repeat(101)}`, "more than 100 keys"],
  [`/${"a".repeat(10_000)}`, "more than 10000 characters"],
])("the target %p is refused", (text, message) => {
  expect(() => parseTarget(text)).toThrow(message);
});

test.each([
  ["$a.{$none}", "{$none} is missing"],
  ["$a.{$missing.x}", "{$missing.x} is missing"],
  ["/out/{$o}.md", "{$o} is a value of type object"],
  ["/out/{$o.list}.md", "{$o.list} is an array"],
  ["/{''}", "empty"],
  ["$a.{''}", "empty"],
  ["$a[$missing]", "[$missing] is missing"],
  ["$a[-1]", "is -1"],
  ["$a[0.5]", "is 0.5"],
  ["$a[_item.on]", "of type boolean"],
  ["$a['']", "an empty string"],
  ["$a.{$key}", "__proto__ is not allowed"],
  ["$a[$key].polluted", "__proto__ is not allowed"],
])("the target %p can't be resolved", (text, message) => {
  expect(() => place(text)).toThrow(message);
});

test("a placeholder that can't be evaluated throws an ExpressionError", () => {
  expect(() => place("$a[1 / 0]")).toThrow(ExpressionError);
});

test("expressionsIn lists the expressions in a target", () => {
  expect(expressionsIn(parseTarget("$a[_index].b_{$x}.c[0]"))).toEqual(["_index", "$x", "0"]);
  expect(expressionsIn(parseTarget("/{_item.a}/[_index]"))).toEqual(["_item.a", "_index"]);
});

test("every text is a valid target or throws TARGET_INVALID", () => {
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
          resolveTarget(text, scope);
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

test("outEntries returns targets with their values", () => {
  expect(outEntries(undefined)).toEqual([]);
  expect(outEntries("$x")).toEqual([["$x", "=_result"]]);
  expect(outEntries({ $x: "=_result.a", "/f": null })).toEqual([
    ["$x", "=_result.a"],
    ["/f", null],
  ]);
  expect(() => outEntries(["$x"])).toThrow("out is not a target or an object: an array");
  expect(() => outEntries(3)).toThrow("out is not a target or an object: a number");
});

/** Freezes a value deeply, so that changes throw. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) frozen(item);
    Object.freeze(value);
  }
  return value;
}

describe("a value at a path", () => {
  test.each([
    [null, ["a", 0, "b"], { a: [{ b: 1 }] }],
    [undefined, [0], [1]],
    [null, ["0"], { 0: 1 }],
    [{ a: null }, ["a", "b"], { a: { b: 1 } }],
    [[5], ["0"], [1]],
    [[5], [1], [5, 1]],
    [[], [3], [null, null, null, 1]],
    [{ 7: 0 }, [7], { 7: 1 }],
    [{ a: { b: 0, c: 2 } }, ["a", "b"], { a: { b: 1, c: 2 } }],
    ["anything", [], 1],
  ])("in %p at %p makes %p", (root, path, expected) => {
    expect(setPath(frozen(root), path, 1)).toEqual(expected as never);
  });

  test("leaves the old value unchanged and shares everything off the path", () => {
    const root = frozen({ a: [{ b: 1 }, { c: 2 }], d: {} });
    const next = setPath(root, ["a", 0, "b"], 9) as typeof root;
    expect(next).toEqual({ a: [{ b: 9 }, { c: 2 }], d: {} });
    expect(root.a[0]).toEqual({ b: 1 });
    expect(next.a[1]).toBe(root.a[1]);
    expect(next.d).toBe(root.d);
  });

  test("changes owned containers in place, and copies all other containers once", () => {
    const owned = new WeakSet<object>();
    const root = frozen({ list: [0] });
    const first = setPath(root, ["list", 1], 1, owned) as typeof root;
    const second = setPath(first, ["list", 2], 2, owned) as typeof root;
    expect(root).toEqual({ list: [0] });
    expect(second).toBe(first);
    expect(second).toEqual({ list: [0, 1, 2] });
    expect(() => setPath(second, ["list", "x"], 3, owned)).toThrow("not an index");
    expect(second).toEqual({ list: [0, 1, 2] });
  });

  test("fills gaps in an array with nulls", () => {
    const grown = setPath([], [1000], "x");
    expect(grown).toEqual(JSON.parse(JSON.stringify(grown)));
    expect(Object.keys(grown as unknown[])).toHaveLength(1001);
  });

  test("never writes to an inherited property", () => {
    expect(setPath({}, ["toString", "a"], 1)).toEqual({ toString: { a: 1 } } as never);
    const written = setPath(null, ["constructor", "prototype", "x"], 1);
    expect(JSON.stringify(written)).toBe('{"constructor":{"prototype":{"x":1}}}');
  });
});

test.each([
  [null, ["__proto__", "x"], "__proto__ is not allowed"],
  ["text", ["a"], "the variable is a value of type string"],
  [{ a: { b: 5 } }, ["a", "b", "c"], "a.b is a value of type number"],
  [{ a: new Date() }, ["a", "x"], "a is a value of type object"],
  [[], ["x"], "not an index"],
  [[], ["01"], "not an index"],
  [[], [-1], "not an index"],
  [[], [0.5], "not an index"],
  [[], [1_000_001], "over 1000000 beyond"],
  [null, [2 ** 40], "over 1000000 beyond"],
])("a path that can't be written is refused: in %p at %p", (root, path, message) => {
  expect(() => setPath(root, path, 1)).toThrow(message);
});

test("every path is written or refused, and no prototype changes", () => {
  const segment = fc.oneof(
    fc.constantFrom("__proto__", "constructor", "prototype", "length", "0", "a"),
    fc.string(),
    fc.integer({ min: -2, max: 9 }),
  );
  const before = Object.getOwnPropertyNames(Object.prototype);
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(segment, { maxLength: 5 }), (root, path) => {
      const old = JSON.stringify(root);
      try {
        const next = setPath(frozen(root), path, "new");
        const found = path.reduce<unknown>(
          (value, key) => (value as Record<string, unknown>)[key],
          next,
        );
        expect(found).toBe("new");
      } catch (error) {
        expect(error).toMatchObject({ code: "PATH_REFUSED" });
      }
      expect(JSON.stringify(root)).toBe(old);
    }),
    { numRuns: 1000 },
  );
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
});
