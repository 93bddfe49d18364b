import { describe, expect, test } from "bun:test";
import {
  around,
  finding,
  type JsonNode,
  nodeAt,
  openAtFirst,
  pathOf,
  previewOf,
  rootOf,
  visibleIn,
} from "./json-nodes.ts";

function found(value: unknown, text: string): readonly number[][] {
  const work = finding(value, text);
  for (;;) {
    const { done, value: result } = work.next();
    if (done) return result;
  }
}

const namesOf = (nodes: readonly JsonNode[]) => nodes.map(({ name }) => name);

describe("a tree of JSON", () => {
  test("shows the members of its root and of open nodes", () => {
    const root = rootOf({ a: [1, 2], "b/c": { d: true } });
    expect(namesOf(visibleIn(root, new Set()))).toEqual(["a", "b/c"]);
    expect(namesOf(visibleIn(root, new Set(["/a"])))).toEqual(["a", "0", "1", "b/c"]);
    expect(namesOf(visibleIn(root, new Set(["/b~1c"])))).toEqual(["a", "b/c", "d"]);
    expect(visibleIn(rootOf(5), new Set())).toHaveLength(1);
  });

  test("is open at first where it is small", () => {
    const root = rootOf({ small: { x: 1 }, large: Array.from({ length: 50 }, () => 1) });
    expect(openAtFirst(root, false)).toEqual(new Set(["/small"]));
    expect(openAtFirst(root, true)).toEqual(new Set(["/small", "/large"]));
    expect(openAtFirst(rootOf({ text: "one\ntwo" }), false)).toEqual(new Set(["/text"]));
  });

  test("shows ranges of a long list", () => {
    const root = rootOf(Array.from({ length: 2_500_000 }, () => 1));
    const [first, second, third] = visibleIn(root, new Set());
    expect([first?.name, third?.name]).toEqual(["0 … 999999", "2000000 … 2499999"]);
    const within = visibleIn(root, new Set([second?.id ?? ""]));
    expect(within).toHaveLength(3 + 1_000);
    expect(within[2]?.name).toBe("1000000 … 1000999");
  });

  test("has a path for each node", () => {
    const root = rootOf({
      a: [{ "b c": 1 }],
      "d-e": Array.from({ length: 5_000 }, (_, n) => ({ n })),
    });
    const path = (...indexes: number[]) => {
      const node = nodeAt(root, indexes);
      return node && pathOf(node);
    };
    expect(path(0, 0, 0)).toBe('a[0]["b c"]');
    expect(path(1, 4_321, 0)).toBe('["d-e"][4321].n');
    expect(path(7)).toBeNull();
  });

  test("finds names and values, and opens the nodes around them", () => {
    const value = { list: Array.from({ length: 3_000 }, (_, n) => ({ n })), Note: "2999 (all)" };
    const matches = found(value, "2999");
    expect(matches).toEqual([[0, 2_999, 0], [1]]);
    expect(found(value, "note")).toEqual([[1]]);
    expect(found(value, "(ALL)")).toEqual([[1]]);
    expect(found("2999", "2999")).toEqual([]);
    const root = rootOf(value);
    const node = nodeAt(root, matches[0] ?? []);
    const open = new Set(node ? around(node) : []);
    expect(visibleIn(root, open).map(({ id }) => id)).toContain(node?.id ?? "");
  });

  test("finds a value at any depth", () => {
    let value: unknown = "deep";
    for (let depth = 0; depth < 50_000; depth += 1) value = [value];
    expect(found(value, "deep")[0]).toHaveLength(50_000);
  });
});

test("a preview is one short line", () => {
  expect(previewOf({ a: [1, "x\ny", null], b: {} })).toBe('{a: [1, "x\\ny", null], b: {}}');
  expect(previewOf([[[[1]]]])).toBe("[[[[…]]]]");
  expect(previewOf(Array.from({ length: 1_000 }, () => "word".repeat(1_000))).length).toBeLessThan(
    400,
  );
});
