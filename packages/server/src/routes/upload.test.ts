import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkFiles, writeFiles } from "./upload.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sent-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const odd = "A b.ts .. . / // \\ \0 node_modules .git é e\u0301 : \u202e".split(" ");
const piece = fc.oneof(
  { arbitrary: fc.constantFrom("a", "b", "lib/", "x.ts"), weight: 3 },
  fc.constantFrom(...odd, " "),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const path = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));

function isTaken(files: ReadonlyMap<string, string>): boolean {
  const [first = ""] = files.keys();
  try {
    checkFiles(files, first);
    return true;
  } catch (error) {
    expect(error).toMatchObject({
      kind: "usage",
      code: expect.stringMatching(/^(BAD_FILE_NAME|FILE_NOT_SENT)$/) as string,
    });
    return false;
  }
}

test("uploaded files stay in their folder under any accepted name, with unchanged content", async () => {
  let taken = 0;
  const check = async (paths: string[]) => {
    const files = new Map(paths.map((one, n) => [one, `text ${n}`]));
    if (!isTaken(files)) return;
    taken += 1;
    const inner = join(folder, String(taken), "inner");
    mkdirSync(inner, { recursive: true });
    await writeFiles(inner, files);
    expect(readdirSync(join(folder, String(taken)))).toEqual(["inner"]);
    const found = readdirSync(inner, { recursive: true, withFileTypes: true });
    expect(found.filter((entry) => entry.isFile())).toHaveLength(files.size);
    for (const [one, text] of files) expect(readFileSync(join(inner, one), "utf8")).toBe(text);
  };
  await fc.assert(fc.asyncProperty(fc.array(path, { maxLength: 4 }), check), { numRuns: 1_500 });
  expect(taken).toBeGreaterThan(50);
});

test("the name of a device is not a file name, in any case and with any extension", () => {
  const names = ["CON", "nul.ts", "Aux/a.ts", "lib/com1.tar.gz", "LPT9.json", "prn.", "com³.ts"];
  expect(names.filter((name) => isTaken(new Map([[name, ""]])))).toEqual([]);
  const others = ["con-tract.ts", "console.ts", "aux1.ts", "com10.ts", "lib/nullable.ts"];
  expect(others.filter((name) => isTaken(new Map([[name, ""]])))).toEqual(others);
});

test("two spellings of one file name are refused", () => {
  const pairs = [
    ["lib/a.ts", "lib/A.ts"],
    ["é.ts", "e\u0301.ts"],
    ["a.ts", "A.TS/b.ts"],
  ];
  const taken = pairs.filter((pair) => isTaken(new Map(pair.map((one) => [one, ""]))));
  expect(taken).toEqual([]);
});
