import { expect, test } from "bun:test";
import { truncated, truncatedJson } from "./truncated.ts";

const payloadOf = (payload: unknown): unknown => JSON.parse(truncatedJson(JSON.stringify(payload)));

test("a value of 10 KB of JSON stands as it is, a longer one as its beginning", () => {
  const fits = "x".repeat(10 * 1024 - 2);
  expect(truncated(fits)).toBe(fits);
  expect(truncated(`${fits}x`)).toEqual({
    _truncated: true,
    type: "string",
    length: 10 * 1024 + 1,
    preview: `"${"x".repeat(199)}...`,
  });
});

test("an object is measured by its JSON", () => {
  const small = { list: [1, 2, 3] };
  expect(truncated(small)).toBe(small);
  const large = { text: '"'.repeat(6000) };
  expect(truncated(large)).toMatchObject({ _truncated: true, type: "object", length: 12_011 });
});

test("what has no JSON is left alone", () => {
  expect(truncated(undefined)).toBeUndefined();
});

test("of a payload only the values that are too long are cut", () => {
  const long = "y".repeat(11_000);
  const cut = expect.objectContaining({ _truncated: true, length: 11_002 });
  expect(payloadOf({ a: 1, long })).toEqual({ a: 1, long: cut });
  expect(payloadOf({ outputs: { a: "small", long } })).toEqual({
    outputs: { a: "small", long: cut },
  });
  expect(payloadOf({ input: { a: "small", long } })).toMatchObject({ input: { _truncated: true } });
});

test("a payload that is small is not looked at, nor one that is no object", () => {
  expect(payloadOf({ outputs: null, n: 1 })).toEqual({ outputs: null, n: 1 });
  expect(payloadOf("z".repeat(11_000))).toMatchObject({ _truncated: true, type: "string" });
});
