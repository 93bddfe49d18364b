import { expect, test } from "bun:test";
import { truncated } from "./event.ts";

test("a value is replaced by a marker with a preview when its JSON is longer than 10 KB", () => {
  const fits = "x".repeat(10 * 1024 - 2);
  expect(truncated(fits)).toBe(fits);
  expect(truncated(`${fits}x`)).toEqual({
    _truncated: true,
    type: "string",
    length: 10 * 1024 + 1,
    preview: `"${"x".repeat(199)}...`,
  });
});

test("the size of an object is the size of its JSON", () => {
  const small = { list: [1, 2, 3] };
  expect(truncated(small)).toBe(small);
  const large = { text: '"'.repeat(6000) };
  expect(truncated(large)).toMatchObject({ _truncated: true, type: "object", length: 12_011 });
});

test("undefined, which JSON can't represent, is unchanged", () => {
  expect(truncated(undefined)).toBeUndefined();
});
