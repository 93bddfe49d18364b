import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Node, parseTree } from "jsonc-parser";
import { deepest, pathAt, type TextNode, treeOf } from "./tree.ts";

type Place = { offset: number; length: number; children: Place[] };

const placeOf = ({ offset, length, children }: TextNode): Place => ({
  offset,
  length,
  children: children.map(placeOf),
});

const expectedPlace = ({ offset, length, children = [] }: Node): Place => ({
  offset,
  length,
  children: children.map(expectedPlace),
});

const blanks = fc.constantFrom("", " ", "\n\t", "\r\n  ");

test("finds the values of any JSON text at the same positions as a full parser", () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 4 }),
      fc.constantFrom(0, 2),
      blanks,
      blanks,
      (json, unit, before, after) => {
        const text = before + JSON.stringify(JSON.parse(json), null, unit) + after;
        const [root, whole] = [treeOf(text), parseTree(text)];
        expect(root && placeOf(root)).toEqual(whole && expectedPlace(whole));
      },
    ),
    { numRuns: process.env.TEST_CASES === "all" ? 2_000 : 300 },
  );
});

test("finds values after quotes, brackets and backslashes in texts, and the last of duplicate names", () => {
  const text = '{"a\\\\": "]}\\"", "\\u0062": [1, {"c" :-1.5e3}], "b" : [ true , null ]}';
  const root = treeOf(text);
  if (!root) throw new Error("missing root");
  const at = (...path: (string | number)[]) => {
    const { node, depth } = deepest(root, path);
    return [node.value, depth];
  };
  expect(at("a\\")).toEqual([']}"', 1]);
  expect(at("b", 1)).toEqual([null, 2]);
  expect(at("b", 2, "c")).toEqual([[true, null], 1]);
  expect(root.children[1]?.children[1]?.value).toEqual([1, { c: -1500 }]);
});

test("finds the path of the value at the caret", () => {
  const text = '{ "nodes": [ { "id": "a" }, { "id": "b", "data": { "n": [1, 22] } } ] }';
  const root = treeOf(text);
  if (!root) throw new Error("missing root");
  const at = (part: string, within = 0) => pathAt(root, text.indexOf(part) + within);
  expect(at('"id": "b"', 2)).toEqual(["nodes", 1, "id"]);
  expect(at('"b"', 1)).toEqual(["nodes", 1, "id"]);
  expect(at("22", 2)).toEqual(["nodes", 1, "data", "n", 1]);
  expect(at("}, {", 1)).toEqual(["nodes", 0]);
  expect(at("  ", 0)).toEqual([]);
  expect(pathAt(root, text.length)).toEqual([]);
});

test("returns undefined for a blank text", () => {
  expect([treeOf(""), treeOf(" \n")]).toEqual([undefined, undefined]);
});
