import { expect, test } from "bun:test";
import fc from "fast-check";
import { jsonIn } from "./extract.ts";

const block = (json: string, label = "json") => `\`\`\`${label}\n${json}\n\`\`\``;

test("a text that is JSON is its value", () => {
  expect(jsonIn(' {"a": [1, null]}\n')).toEqual({ a: [1, null] });
});

test("the only JSON block of a text is its value", () => {
  const text = `I looked at it.\n${block("not json", "ts")}\nSo:\n${block('{"ok": true}')}\nDone.`;
  expect(jsonIn(text)).toEqual({ ok: true });
  expect(jsonIn(`So:\r\n~~~ JSON title\r\n{"ok": 1}\r\n~~~~\r\n`)).toEqual({ ok: 1 });
  expect(jsonIn(`So:\n${block('{"ok": true}', "")}`)).toEqual({ ok: true });
});

test("two JSON blocks have no value", () => {
  expect(jsonIn(`${block("{}")}\nor\n${block("{}")}`)).toBeUndefined();
  expect(jsonIn(`${block("{}")}\nor\n${block("broken")}`)).toBeUndefined();
  expect(jsonIn(`${block("{}")}\nor\n${block("1", "")}`)).toBeUndefined();
});

test("incomplete JSON is not a value", () => {
  for (const text of ["", "Yes.", '{"a": 1', "```json\n{}", `\`\`\`json {}\n\`\`\``, "{} {}"]) {
    expect(jsonIn(text)).toBeUndefined();
  }
});

test("a block in a longer fence is part of its text", () => {
  expect(jsonIn(`\`\`\`\`md\n${block("{}")}\n\`\`\`\``)).toBeUndefined();
});

test("every JSON object in a block is found unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (value, before) => {
      fc.pre(!/[`~{["\d\-tfn]/.test(before));
      const json = JSON.stringify(value);
      expect(jsonIn(`${before}\n${block(json)}`)).toEqual(JSON.parse(json));
    }),
  );
});

// Quadratic work on this many lines would exceed the test's timeout.
test("half a million open fences are read in linear time", () => {
  expect(jsonIn("```json\n".repeat(500_000))).toBeUndefined();
});
