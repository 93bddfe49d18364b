import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Change } from "./editing.ts";
import { applyEdits, editsOf, inverseOf } from "./changes.ts";

const edited = (text: string, ...changes: Change[]): string =>
  applyEdits(text, editsOf(text, changes));

const pretty = `{
  "nodes": [
    { "id": "a", "x": 1.0 },
    { "id": "b", "x": 2 },
    { "id": "c", "x": 3 }
  ],
  "more": {}
}
`;

describe("an edit of the text", () => {
  test("changes only its own characters", () => {
    expect(edited(pretty, { path: ["nodes", 1, "x"], value: 20 })).toBe(
      pretty.replace('"x": 2', '"x": 20'),
    );
  });

  test("is empty for an equal value", () => {
    expect(editsOf(pretty, [{ path: ["nodes", 0, "x"], value: 1 }])).toEqual([]);
  });

  test("removes items with their commas, by their old indexes", () => {
    const changes = [0, 2].map((index) => ({ path: ["nodes", index], value: undefined }));
    expect(edited(pretty, ...changes)).toBe(
      pretty
        .replace('    { "id": "a", "x": 1.0 },\n', "")
        .replace(',\n    { "id": "c", "x": 3 }', ""),
    );
  });

  test("empties a list", () => {
    const changes = [0, 1, 2].map((index) => ({ path: ["nodes", index], value: undefined }));
    expect(edited(pretty, ...changes)).toContain('"nodes": [],');
  });

  test("inserts items in the format of their neighbours", () => {
    const value = { id: "d" };
    expect(edited(pretty, { path: ["nodes", 3], value, insert: true })).toContain(
      '{ "id": "c", "x": 3 },\n    {\n      "id": "d"\n    }\n  ],',
    );
    expect(edited("[1, 2]", { path: [0], value: 0, insert: true })).toBe("[0, 1, 2]");
  });

  test("adds names and missing parent objects", () => {
    const changes = [
      { path: ["more", "a", "b"], value: 1 },
      { path: ["more", "a", "c"], value: 2 },
    ];
    expect(JSON.parse(edited(pretty, ...changes)).more).toEqual({ a: { b: 1, c: 2 } });
    expect(edited('{"a":null}', { path: ["a", "b"], value: 1 })).toBe('{"a":{"b":1}}');
  });

  test("is dropped inside a removed part", () => {
    const changes = [
      { path: ["nodes", 1, "x"], value: 9 },
      { path: ["nodes", 1], value: undefined },
    ];
    expect(JSON.parse(edited(pretty, ...changes)).nodes).toHaveLength(2);
  });

  test("uses the text's line ends and indentation", () => {
    const text = '{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}';
    expect(edited(text, { path: ["a", 1], value: { b: 2 } })).toBe(
      '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t"b": 2\r\n\t\t}\r\n\t]\r\n}',
    );
  });

  test("treats __proto__ like any other key", () => {
    expect(edited("{}", { path: ["__proto__", "a"], value: 1 })).toBe(
      '{\n  "__proto__": {\n    "a": 1\n  }\n}',
    );
  });
});

/** Reference implementation of changes to a list. */
function listAfter(list: readonly unknown[], changes: readonly Change[]): unknown[] {
  const removed = new Set(changes.flatMap(({ path, value }) => (value === undefined ? path : [])));
  const at = (index: number) =>
    changes.filter(({ path, insert }) => insert && path[0] === index).map(({ value }) => value);
  const kept = list.flatMap((one, index) => [...at(index), ...(removed.has(index) ? [] : [one])]);
  return [...kept, ...at(list.length)];
}

/** JSON values without -0, which `JSON.stringify` writes as 0. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

const listChanges = (length: number) =>
  fc.array(
    fc.oneof(
      fc
        .nat({ max: length })
        .chain((index) => json.map((value) => ({ path: [index], value, insert: true as const }))),
      ...(length > 0
        ? [fc.nat({ max: length - 1 }).map((index) => ({ path: [index], value: undefined }))]
        : []),
    ),
    { maxLength: 8 },
  );

test("insertions and removals of list items produce the intended list and can be undone", () => {
  const cases = fc
    .tuple(fc.array(json, { maxLength: 6 }), fc.constantFrom(0, 2, "\t"))
    .chain(([list, indent]) =>
      fc.tuple(fc.constant(JSON.stringify(list, null, indent)), listChanges(list.length)),
    );
  fc.assert(
    fc.property(cases, ([text, changes]) => {
      const edits = editsOf(text, changes);
      const after = applyEdits(text, edits);
      expect(JSON.parse(after)).toEqual(listAfter(JSON.parse(text) as unknown[], changes));
      expect(applyEdits(after, inverseOf(edits))).toBe(text);
    }),
  );
});
