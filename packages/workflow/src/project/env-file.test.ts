import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { isWorkflowError } from "../contract/error.ts";
import { readEnvFile } from "./env-file.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "env-file-"));
  file = join(folder, ".env");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(text: string): Record<string, string> {
  writeFileSync(file, text);
  return Object.fromEntries(readEnvFile(file));
}

function broken(text: string): string[] {
  try {
    read(text);
  } catch (error) {
    if (!isWorkflowError(error) || error.code !== "ENV_FILE_INVALID") throw error;
    return (error.details ?? [error.message]).map((line) => line.slice(file.length + 1));
  }
  throw new Error("the file is valid");
}

const signs = (text: string) => fc.constantFrom(...text.split(""));

describe("a .env file", () => {
  test("has variables, comments and blank lines", () => {
    const text = "\uFEFF# first\n\nA=1\n export B = two words # why\r\nC=\nK.x-y=a#b\n  # last";
    expect(read(text)).toEqual({ A: "1", B: "two words", C: "", "K.x-y": "a" });
  });

  test("has values in quotes, even over several lines", () => {
    const text = `A="a # b" # c\nB='it\\n is'\nC=\`x"'y\`\nD="one\ntwo\\nthree \\"four\\" \\d"\nE=end`;
    expect(read(text)).toEqual({
      ...{ A: "a # b", B: "it\\n is", C: `x"'y`, E: "end" },
      D: 'one\ntwo\nthree "four" \\d',
    });
  });

  test("uses the last value of a name", () => {
    expect(read("A=1\nB=2\nA=3")).toEqual({ A: "3", B: "2" });
  });

  test("that is missing or empty has no variables", () => {
    expect(readEnvFile(join(folder, "none")).size).toBe(0);
    expect(read("")).toEqual({});
  });

  test("gives the same variables as Node's parser", () => {
    const value = fc.oneof(
      fc.string({ unit: signs("ab1 _-./:=$%äß") }),
      fc.string({ unit: signs("ab #\n'") }).map((text) => `"${text}"`),
      fc.string({ unit: signs('ab #\n"') }).map((text) => `'${text}'`),
    );
    const lines = fc.array(
      fc.oneof(
        fc.tuple(fc.constantFrom("A", "b_2", "export C"), value).map(([n, v]) => `${n}=${v}`),
        fc.constantFrom("", "# comment", "  "),
      ),
    );
    fc.assert(
      fc.property(lines, (given) => {
        const text = given.join("\n");
        expect(read(text)).toEqual({ ...parseEnv(text) } as Record<string, string>);
      }),
    );
  });

  test.each<[string, string[]]>([
    ["A=1\nhunter2\nB=2", ["2: expected NAME=value"]],
    ["A b=1", ["1: expected NAME=value"]],
    ["1A=1\n=2", ["1: expected NAME=value", "2: expected NAME=value"]],
    ['A="x\ny"\nB', ["3: expected NAME=value"]],
    ['A=1\nB="hunter2\nC=3', ["2: unterminated quote"]],
    ["A='a' b", ["1: unexpected text after the closing quote"]],
    ["A=a\0b", ["1: the value contains a NUL character"]],
  ])(
    "with an invalid line is refused with the line number, without the line's content: %j",
    (text, lines) => {
      expect(broken(text)).toEqual(lines);
    },
  );

  test("that is not a regular file is refused", () => {
    mkdirSync(file);
    expect(() => readEnvFile(file)).toThrow("is not a regular file");
  });

  test("with an unclosed quote is refused, however long the file is", () => {
    expect(broken(`A="${'\\"'.repeat(400_000)}`)).toHaveLength(1);
  });
});
