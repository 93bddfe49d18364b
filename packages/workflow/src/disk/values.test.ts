import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { valueAt, ValuesFile } from "./values.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "values-test-"));
  path = join(folder, "a.values.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const jsonOf = (length: number, letter = "x"): string => JSON.stringify(letter.repeat(length));
const size = () => statSync(path).size;

describe("a value", () => {
  test("is read back at its byte offset, for any length", () => {
    const values = new ValuesFile(path);
    const kept = [12_000, 65_534, 65_536, 200_000].map((length) => {
      const json = JSON.stringify({ text: "Grüße 😀\n".repeat(length / 10), length });
      return { json, at: values.keep(json) };
    });
    for (const { json, at } of kept.toReversed()) expect(valueAt(path, at ?? -1)).toBe(json);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("that repeats is not written again", () => {
    const values = new ValuesFile(path);
    expect([jsonOf(9), jsonOf(8), jsonOf(9)].map((json) => values.keep(json))).toEqual([0, 12, 0]);
    expect(size()).toBe(23);
  });

  test("is written again after many other values", () => {
    const values = new ValuesFile(path);
    values.keep('"first"');
    values.keep('"second"');
    for (let n = 0; n < 255; n += 1) {
      values.keep(String(n));
      expect(values.keep('"first"')).toBe(0);
    }
    const before = size();
    expect(values.keep('"second"')).toBe(before);
  });

  test("of more than 32 MiB is not kept", () => {
    const values = new ValuesFile(path);
    const most = 32 * 1024 * 1024;
    expect(values.keep(jsonOf(most - 2))).toBeNull();
    expect(values.keep(jsonOf(most / 2, "ü"))).toBeNull();
    const json = jsonOf(most - 3);
    const at = values.keep(json) ?? -1;
    expect(at).toBe(0);
    expect(valueAt(path, at) === json).toBe(true);
  });

  test("is read only from the start of its line, up to the line's end", () => {
    const values = new ValuesFile(path);
    values.keep('["one",1]');
    values.keep('{"two":2}');
    const found = Array.from({ length: size() + 3 }, (_, at) => [at, valueAt(path, at)] as const);
    expect(found.filter(([, value]) => value !== null)).toEqual([
      [0, '["one",1]'],
      [10, '{"two":2}'],
    ]);
    expect(valueAt(join(folder, "none"), 0)).toBeNull();
  });
});

describe("the file of values", () => {
  test("has at most 256 MiB, so a short value may still fit", () => {
    const most = 256 * 1024 * 1024;
    writeFileSync(path, "");
    truncateSync(path, most - 21);
    appendFileSync(path, "\n");
    const values = new ValuesFile(path);
    expect(values.keep(jsonOf(30))).toBeNull();
    expect(values.keep(jsonOf(17))).toBe(most - 20);
    expect(values.keep("1")).toBeNull();
    expect(size()).toBe(most);
    expect(valueAt(path, most - 20)).toBe(jsonOf(17));
  });

  test.each(["", "[1,2", `"${"x".repeat(100_000)}`, "\0\0\0"])(
    "continues on a new line after a partial line of a crash: %p",
    (torn) => {
      const before = new ValuesFile(path).keep("[1]") ?? -1;
      appendFileSync(path, torn);
      const after = new ValuesFile(path).keep("[2]") ?? -1;
      expect([before, after].map((at) => valueAt(path, at))).toEqual(["[1]", "[2]"]);
      if (torn) expect(valueAt(path, 4)).toBeNull();
    },
  );

  test("that can't be written drops values, and does not throw", () => {
    writeFileSync(join(folder, "precious"), "precious");
    symlinkSync(join(folder, "precious"), path);
    expect(new ValuesFile(path).keep("[1]")).toBeNull();
    expect(readFileSync(join(folder, "precious"), "utf8")).toBe("precious");
    const inFolder = join(folder, "folder");
    mkdirSync(inFolder);
    expect(new ValuesFile(inFolder).keep("[1]")).toBeNull();
    expect(new ValuesFile(join(folder, "gone", "a")).keep("[1]")).toBeNull();
  });

  test("undoes a write that did not fit on the disk", () => {
    const program = `
      import { ValuesFile } from ${JSON.stringify(join(import.meta.dir, "values.ts"))};
      const values = new ValuesFile(${JSON.stringify(path)});
      const lengths = [20_000, 40_000, 10_000];
      console.log(JSON.stringify(lengths.map((n) => values.keep(JSON.stringify("x".repeat(n))))));
    `;
    const script = join(folder, "program.ts");
    writeFileSync(script, program);
    const limit = `trap "" XFSZ; ulimit -f 64; exec ${process.execPath} ${script}`;
    const { stdout, stderr } = Bun.spawnSync(["sh", "-c", limit]);
    expect(stderr.toString()).toBe("");
    expect(stdout.toString().trim()).toBe("[0,null,20003]");
    expect(size()).toBe(20_003 + 10_003);
  });
});
