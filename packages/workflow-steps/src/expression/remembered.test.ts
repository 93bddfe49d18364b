import { expect, test } from "bun:test";
import { remembered } from "./remembered.ts";

test("what was made is kept, the oldest only until there are too many", () => {
  const made: string[] = [];
  const value = remembered((text) => made.push(text), 2);
  for (const text of ["a", "b", "a", "c", "c", "b", "a"]) value(text);
  expect(made).toEqual(["a", "b", "c", "a"]);
});

test("what throws is made anew", () => {
  let count = 0;
  const value = remembered(() => {
    count += 1;
    if (count === 1) throw new Error("first");
    return count;
  }, 2);
  expect(() => value("a")).toThrow("first");
  expect(value("a")).toBe(2);
});
