import { expect, test } from "bun:test";
import { expressionOf, insert } from "./expression.ts";

const document = {
  steps: [{ id: "A", input: { text: "=$notes.all", both: "=$a + $b" }, value: "=names[0]" }],
};

test.each([
  ["scope", "names[0].first", "names[0].first"],
  ["output", "$rows[1]", "$rows[1]"],
  ["output", "other", null],
  ["input", "text[2].id", "$notes.all[2].id"],
  ["input", "value", "names[0]"],
  ["input", "both", null],
  ["input", "missing", null],
] as const)("a value of %s at %s is the expression %p", (part, path, expression) => {
  expect(expressionOf(document, { node: "A", part, path })).toBe(expression);
});

test.each([
  ["", 0, "value", "=$x"],
  ["=", 0, "value", "=$x"],
  ["=$a + ", 6, "value", "=$a + $x"],
  ["Hi ", 3, "input", "='Hi ' + $x"],
  ["it's, and on", 5, "input", "='it\\'s,' + $x + ' and on'"],
  ["a\n", 0, "input", "=$x + 'a\\n'"],
  ["_index == ", 10, "if", "_index == $x"],
  ["", 0, "cases", "$x"],
])("an expression is inserted into %p at %d", (text, caret, field, expected) => {
  const put = insert(text, caret, "$x", [field]);
  expect(put.text).toBe(expected);
  expect(put.text.slice(0, put.caret).endsWith("$x")).toBe(true);
});
