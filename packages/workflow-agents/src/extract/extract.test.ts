import { expect, test } from "bun:test";
import fc from "fast-check";
import { jsonIn } from "./extract.ts";

const block = (json: string, label = "json") => `\`\`\`${label}\n${json}\n\`\`\``;

test("the value of a JSON text is returned", () => {
  expect(jsonIn(' {"a": [1, null]}\n')).toEqual({ a: [1, null] });
});

test("the value of a text's only JSON code block is returned", () => {
  const text = `I looked at it.\n${block("not json", "ts")}\nSo:\n${block('{"ok": true}')}\nDone.`;
  expect(jsonIn(text)).toEqual({ ok: true });
  expect(jsonIn(`So:\r\n~~~ JSON title\r\n{"ok": 1}\r\n~~~~\r\n`)).toEqual({ ok: 1 });
  expect(jsonIn(`So:\n${block('{"ok": true}', "")}`)).toEqual({ ok: true });
});

test("a text with two JSON code blocks has no value", () => {
  expect(jsonIn(`${block("{}")}\nor\n${block("{}")}`)).toBeUndefined();
  expect(jsonIn(`${block("{}")}\nor\n${block("broken")}`)).toBeUndefined();
  expect(jsonIn(`${block("{}")}\nor\n${block("1", "")}`)).toBeUndefined();
});

test("incomplete JSON has no value", () => {
  for (const text of ["", "Yes.", '{"a": 1', "```json\n{}", `\`\`\`json {}\n\`\`\``, "{} {}"]) {
    expect(jsonIn(text)).toBeUndefined();
  }
});

test("a code block within a longer fence is part of the outer block", () => {
  expect(jsonIn(`\`\`\`\`md\n${block("{}")}\n\`\`\`\``)).toBeUndefined();
});

test("any JSON object in a code block is returned unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (value, before) => {
      fc.pre(!/[`~{["\d\-tfn]/.test(before));
      const json = JSON.stringify(value);
      expect(jsonIn(`${before}\n${block(json)}`)).toEqual(JSON.parse(json));
    }),
  );
});

// Quadratic work on this many lines would exceed the test's timeout.
test("half a million unclosed fences are read in linear time", () => {
  expect(jsonIn("```json\n".repeat(500_000))).toBeUndefined();
});
