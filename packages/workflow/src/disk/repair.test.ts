import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { logOf, startLine, stepLine } from "../../test/fixtures/records.ts";
import { readLog } from "./log.ts";
import { truncateTail } from "./writer.ts";

const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "repair-test-"));
  path = join(folder, `${threadId}.data.jsonl`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("cutting a torn tail", () => {
  test("leaves the complete records, and saves the cut bytes beside them, at every byte (F1)", () => {
    const whole = logOf(startLine, stepLine("a"));
    const tail = logOf(stepLine("torn ü"));
    for (let cut = 1; cut < tail.length; cut += 1) {
      writeFileSync(path, Buffer.concat([whole, tail.subarray(0, cut)]));
      const log = readLog(path);
      if (log.kind !== "thread") throw new Error(log.kind);
      const done = truncateTail(path, threadId, log.size, log.torn);
      expect(done).toEqual({
        bytes: cut,
        keptIn: join(folder, `${threadId}.torn-${whole.length}`),
      });
      expect(readFileSync(path).equals(whole)).toBe(true);
      expect(readFileSync(done.keptIn).equals(tail.subarray(0, cut))).toBe(true);
      expect(statSync(done.keptIn).mode & 0o777).toBe(0o600);
    }
  });

  test("leaves the log unchanged when the tail can't be saved", () => {
    const bytes = Buffer.concat([logOf(startLine), Buffer.from("torn")]);
    writeFileSync(path, bytes);
    const size = bytes.length - 4;
    const long = "x".repeat(250);
    expect(() => truncateTail(path, long, size, 4)).toThrow("can't");
    expect(readFileSync(path)).toEqual(bytes);
    expect(readdirSync(folder).sort()).toEqual([`${threadId}.data.jsonl`]);
  });

  test("refuses a symbolic link", () => {
    writeFileSync(join(folder, "target"), "precious");
    symlinkSync(join(folder, "target"), path);
    expect(() => truncateTail(path, threadId, 0, 8)).toThrow("it is a symbolic link");
    expect(readFileSync(join(folder, "target"), "utf8")).toBe("precious");
  });
});
