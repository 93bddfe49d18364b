import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { top } from "./source.ts";

const guide = readFileSync(join(top, "docs/explanation/reliability.md"), "utf8");

type Row = { number: string; failure: string; holds: string; tests: string };

const rows: Row[] = [...guide.matchAll(/^\| (F\d+) \|(.*)\|$/gm)].map(([, number = "", rest]) => {
  const [failure = "", holds = "", tests = ""] = (rest ?? "").split(" | ");
  return { number, failure, holds, tests };
});

/** The tests that a row names: a file, and names in it. */
const named = rows.flatMap(({ number, tests }) =>
  [...tests.matchAll(/`([^`]+\.ts)`((?:,? "[^"]*")*)/g)].flatMap(([, path = "", names = ""]) =>
    [...names.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => ({ number, path, name })),
  ),
);

const textOf = (path: string): string =>
  existsSync(join(top, path)) ? readFileSync(join(top, path), "utf8") : "";

describe("the failures of docs/explanation/reliability.md", () => {
  test("are F1 to F31, each with a guarantee and at least one test", () => {
    const numbers = Array.from({ length: 31 }, (_, at) => `F${at + 1}`);
    expect(rows.map(({ number }) => number)).toEqual(numbers);
    expect(rows.filter(({ holds }) => holds.trim() === "")).toEqual([]);
    expect(numbers.filter((number) => !named.some((one) => one.number === number))).toEqual([]);
  });

  test("have tests that exist", () => {
    const missing = named.filter(({ path, name }) => {
      const text = textOf(path);
      return !['"', "`", "'"].some((quote) => text.includes(`${quote}${name}`));
    });
    expect(missing).toEqual([]);
  });

  test("are named in no test by a number that has no row", () => {
    const files = new Set(named.map(({ path }) => path));
    const cited = [...files].flatMap((path) =>
      [...textOf(path).matchAll(/\((F\d+)\)"/g)].map(([, number = ""]) => ({ number, path })),
    );
    const rowOf = (number: string) => rows.find((row) => row.number === number);
    expect(cited.filter(({ number, path }) => !rowOf(number)?.tests.includes(path))).toEqual([]);
  });
});
