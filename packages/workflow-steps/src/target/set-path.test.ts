import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { setPath } from "./set-path.ts";

/** A value that throws when it is changed. */
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

  test("leaves the old value as it was and shares what is not on the path", () => {
    const root = frozen({ a: [{ b: 1 }, { c: 2 }], d: {} });
    const next = setPath(root, ["a", 0, "b"], 9) as typeof root;
    expect(next).toEqual({ a: [{ b: 9 }, { c: 2 }], d: {} });
    expect(root.a[0]).toEqual({ b: 1 });
    expect(next.a[1]).toBe(root.a[1]);
    expect(next.d).toBe(root.d);
  });

  test("changes in place what the caller owns, and copies all else once", () => {
    const owned = new WeakSet<object>();
    const root = frozen({ list: [0] });
    const first = setPath(root, ["list", 1], 1, owned) as typeof root;
    const second = setPath(first, ["list", 2], 2, owned) as typeof root;
    expect(root).toEqual({ list: [0] });
    expect(second).toBe(first);
    expect(second).toEqual({ list: [0, 1, 2] });
    expect(() => setPath(second, ["list", "x"], 3, owned)).toThrow("no index");
    expect(second).toEqual({ list: [0, 1, 2] });
  });

  test("grows an array with nulls that JSON keeps", () => {
    const grown = setPath([], [1000], "x");
    expect(grown).toEqual(JSON.parse(JSON.stringify(grown)));
    expect(Object.keys(grown as unknown[])).toHaveLength(1001);
  });

  test("takes the place of nothing that is inherited", () => {
    expect(setPath({}, ["toString", "a"], 1)).toEqual({ toString: { a: 1 } } as never);
  });
});

test.each([
  [null, ["__proto__", "x"], "__proto__ is refused"],
  [{}, ["a", "constructor", "prototype"], "constructor is refused"],
  [{}, ["prototype"], "prototype is refused"],
  ["text", ["a"], "at its beginning stands a value of type string"],
  [{ a: { b: 5 } }, ["a", "b", "c"], "at a.b stands a value of type number"],
  [{ a: new Date() }, ["a", "x"], "at a stands a value of type object"],
  [[], ["x"], "no index"],
  [[], ["01"], "no index"],
  [[], [-1], "no index"],
  [[], [0.5], "no index"],
  [[], [1_000_001], "over 1000000 beyond"],
  [null, [2 ** 40], "over 1000000 beyond"],
])("a path that can't be written is refused: in %p at %p", (root, path, message) => {
  expect(() => setPath(root, path, 1)).toThrow(message);
});

test("any path is written or refused, and no prototype changes", () => {
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
