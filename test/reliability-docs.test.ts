import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { failureTests } from "./failures.ts";
import { top } from "./source.ts";

const guide = readFileSync(join(top, "docs/explanation/reliability.md"), "utf8");

const rows = [...guide.matchAll(/^\| (F\d+) \|(.*)\|$/gm)].map(([, number = "", rest]) => {
  const [failure = "", holds = ""] = (rest ?? "").split(" | ");
  return { number, failure, holds };
});

const named = Object.entries(failureTests).flatMap(([number, files]) =>
  Object.entries(files).flatMap(([path, names]) => names.map((name) => ({ number, path, name }))),
);

const textOf = (path: string): string =>
  existsSync(join(top, path)) ? readFileSync(join(top, path), "utf8") : "";

describe("the failures of docs/explanation/reliability.md", () => {
  test("are F1 to F31, each with a guarantee and at least one test", () => {
    const numbers = Array.from({ length: 31 }, (_, at) => `F${at + 1}`);
    expect(rows.map(({ number }) => number)).toEqual(numbers);
    expect(rows.filter(({ holds }) => holds.trim() === "")).toEqual([]);
    expect(Object.keys(failureTests)).toEqual(numbers);
    expect(numbers.filter((number) => !named.some((one) => one.number === number))).toEqual([]);
  });

  test("have tests that exist", () => {
    const missing = named.filter(({ path, name }) => {
      const text = textOf(path);
      return !['"', "`", "'"].some((quote) => text.includes(`${quote}${name}`));
    });
    expect(missing).toEqual([]);
  });

  test("are cited by number only in the listed tests", () => {
    const files = new Set(named.map(({ path }) => path));
    const cited = [...files].flatMap((path) =>
      [...textOf(path).matchAll(/\((F\d+)\)"/g)].map(([, number = ""]) => ({ number, path })),
    );
    expect(cited.filter(({ number, path }) => !failureTests[number]?.[path])).toEqual([]);
  });
});
