import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { errorOf } from "../../../workflow-steps/test/error-of.ts";
import { everyType } from "../../../workflow-steps/test/every-type.ts";
import { readDocument } from "./document.ts";

const messageFor = (text: string, file = "f.json") =>
  errorOf(() => readDocument(text, file)).message;

describe("JSON", () => {
  test.each([
    ["", "1:1: the file is empty"],
    [" \n", "1:1: the file is empty"],
    ["{", '1:2: a "}" is expected, and the file ends here'],
    ["[1", '1:3: a "]" is expected, and the file ends here'],
    ['{"a": 1,}', '1:9: a key in double quotes is expected, not "}"'],
    ['{\n  "a" 1\n}', '2:7: a ":" is expected, not "1"'],
    ["[1 2]", '1:4: a "," or the end of the object or array is expected, not "2"'],
    ["[1,,2]", '1:4: a value is expected, not ","'],
    ["{a: 1}", '1:2: a value is expected, not "a"'],
    ["[nul]", '1:2: a value is expected, not "nul"'],
    ["{} {}", '1:4: the end of the file is expected, not "{"'],
    ["// why\n{}", '1:1: JSON without comments is expected, not "// why"'],
    ['["a\nb"]', '1:2: a string with a closing " on the same line is expected, not "\\"a"'],
    ['["\\x"]', '1:2: an escape sequence of JSON is expected, not "\\"\\\\x\\""'],
  ])("that is invalid is refused with its position: %j", (text, message) => {
    expect(messageFor(text)).toBe(`f.json:${message}`);
  });

  test("with a duplicate key is refused with both positions", () => {
    expect(messageFor('{"a": {"b": 1,\n "b": 2}}')).toBe(
      'f.json:2:2: duplicate key "b", first in line 1, column 8',
    );
  });

  test("nested 10,000 deep is refused with a one-line error", () => {
    for (const open of ["[", '{"a":']) {
      const message = messageFor(open.repeat(10_000));
      expect(message).toEndWith("it is nested more than 500 deep");
      expect(message).not.toContain("\n");
    }
  });

  test("of 500 levels is parsed, and brackets in texts do not count as levels", () => {
    const text = `${"[".repeat(500)}"${"[".repeat(1000)}"${"]".repeat(500)}`;
    expect(JSON.stringify(readDocument(text, "f.json").document)).toBe(text);
  });

  test("over 10 Mi characters is refused, and slightly less is parsed", () => {
    const most = 10 * 1024 * 1024;
    expect(messageFor(" ".repeat(most + 1))).toBe(
      "f.json:1:1: the file is too large: JSON may have at most 10 Mi characters",
    );
    expect(readDocument(`"${"a".repeat(most - 2)}"`, "f.json").document).toHaveLength(most - 2);
  });

  test("with millions of items is parsed", () => {
    const text = `[${"[],".repeat(2_000_000)}1]`;
    expect(readDocument(text, "f.json").document).toHaveLength(2_000_001);
  });

  test("with a line separator is refused with a one-line error", () => {
    expect(messageFor('{"a":\u2028}')).toBe('f.json:1:6: a value is expected, not "\\u2028"');
    expect(messageFor('{"\u2028": 1, "\u2028": 2}')).toStartWith(
      'f.json:1:10: duplicate key "\\u2028"',
    );
  });

  test("may start with a byte order mark", () => {
    expect(readDocument('\uFEFF{"a": 1}', "f.json").document).toEqual({ a: 1 });
  });

  test("is parsed or refused like by JSON.parse", () => {
    const text = fc.oneof(
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'[]{}:,"\\ \n1-.eEu0tnfa'.split(""), "true", "null") }),
    );
    fc.assert(
      fc.property(text, (json) => {
        let value: unknown;
        try {
          value = JSON.parse(json);
        } catch {
          expect(errorOf(() => readDocument(json, "f.json")).code).toBe("DOCUMENT_INVALID");
          return;
        }
        if (/"(\w*)":.*"\1":/.test(json)) return;
        expect(readDocument(json, "f.json").document).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the position of a part", () => {
  test.each([
    ["f.json", '{\n  "steps": [\n    {"id": "Set_A"},\n    {"next": "B"}\n  ]\n}', [4, 14], [4, 5]],
    ["f.yaml", "steps:\n  - id: Set_A\n  - next: B\n", [3, 11], [3, 5]],
    ["f.yml", "steps: &a\r\n  - id: Set_A\r\n  - next: B\r\nmore: *a\r\n", [3, 11], [3, 5]],
  ])("is its line and column, in %s", (file, text, value, object) => {
    const { positionOf } = readDocument(text, file);
    expect(Object.values(positionOf(["steps", 1, "next"]))).toEqual(value);
    expect(Object.values(positionOf(["steps", 1, "id"]))).toEqual(object);
  });

  test("inside an alias is in the value at the anchor", () => {
    const { positionOf } = readDocument("a: &x\n  b: 1\nc: *x\n", "f.yaml");
    expect(positionOf(["c", "b"])).toEqual({ line: 2, column: 6 });
  });
});

describe("YAML", () => {
  test("is parsed to the same value as equal JSON", async () => {
    const { stringify } = await import("yaml");
    const { document } = readDocument(stringify(everyType), "f.yaml");
    expect(document).toEqual(everyType);
  });

  test("with an alias has the value of the anchor twice", () => {
    const { document } = readDocument("a: &x {b: 1}\nc: *x\n", "f.yaml");
    expect(document).toEqual({ a: { b: 1 }, c: { b: 1 } });
  });

  const bomb = ["a", "b", "c", "d"].map((name, index, names) => {
    const one = index === 0 ? "1" : `*${names[index - 1]}`;
    return `${name}: &${name} [${Array.from({ length: 10 }, () => one).join(", ")}]`;
  });

  test.each([
    ["a: 1\na: 2", '2:1: duplicate key "a", first in line 1, column 1'],
    [bomb.join("\n"), "1:1: too many aliases"],
    ["a: &a [*a]", "1:1: an alias contains itself"],
    ["a: *b", "1:1: Unresolved alias (the anchor must be set before the alias): b"],
    ["a: .nan", "1:4: JSON can't represent this number"],
    ["a: !foo 1", "1:4: Unresolved tag: !foo"],
    ["a: 1\n---\nb: 2", "2:1: a second document begins here"],
    ["a:\n\t- b", "2:1: Tabs are not allowed as indentation"],
    ["", "1:1: the file is empty"],
  ])("that JSON can't represent, or that is invalid, is refused: %j", (text, message) => {
    expect(messageFor(text, "f.yaml")).toBe(`f.yaml:${message}`);
  });

  test("nested 10,000 deep is refused with a one-line error", () => {
    for (const text of ["[".repeat(10_000), `${"- ".repeat(10_000)}a`]) {
      expect(messageFor(text, "f.yaml")).toEndWith("it is nested more than 500 deep");
    }
  });
});

test.each([
  ["a.json", '{"a": 1,\n "id": 9007199254740993}', "a.json:2:8"],
  ["a.yaml", "a: 1\nid: 9007199254740993\n", "a.yaml:2:5"],
  ["a.yaml", "list:\n  - -9007199254740993\n", "a.yaml:2:5"],
])("a number that would be rounded is refused with its position: %s", (file, text, at) => {
  expect(() => readDocument(text, file)).toThrow(`${at}: the number`);
  const quoted = text.replace(/-?9007199254740993/, '"$&"');
  expect(JSON.stringify(readDocument(quoted, file).document)).toContain("9007199254740993");
});
