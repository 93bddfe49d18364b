import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DiskCall, faultyDisk, systemError } from "../../test/fixtures/faulty-disk.ts";
import { sealedLogOf, startLine, stepLine } from "../../test/fixtures/records.ts";
import type { PreparedLog } from "../system/prewarm.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { readLog } from "./log.ts";
import { prepareLog } from "./prepare.ts";
import { maxRecordBytes, type StartRecord } from "./record.ts";
import { LogWriter } from "./writer.ts";
import { durableWriting } from "./writing.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "prepare-test-"));
  path = join(folder, "a.data.jsonl");
});
afterEach(() => {
  useSystem(realSystem);
  rmSync(folder, { recursive: true, force: true });
});

const start = JSON.parse(startLine) as StartRecord;
const prepare = () => prepareLog(path, start) as PreparedLog;
const takeOver = (prepared: PreparedLog) =>
  LogWriter.fromPrepared(path, prepared, durableWriting());
const fail = (wanted: DiskCall) =>
  useSystem(
    faultyDisk({
      before: (call) => {
        if (call === wanted) throw systemError("EIO");
      },
    }).system,
  );

test("a prepared log has a name that nobody reads, and mode 0600", () => {
  const { aside } = prepare();
  expect(readdirSync(folder)).toEqual([aside.slice(folder.length + 1)]);
  expect(aside).toMatch(/\/\.a\.data\.jsonl\.[0-9a-f]{8}\.tmp$/);
  expect(statSync(aside).mode & 0o777).toBe(0o600);
});

test("it is taken over as it would have been made, and continued", async () => {
  const writer = takeOver(prepare());
  expect(readdirSync(folder)).toEqual(["a.data.jsonl"]);
  expect(readFileSync(path, "utf8")).toBe(sealedLogOf(startLine).toString());
  await writer?.append(stepLine("1"));
  await writer?.close();
  expect(readFileSync(path, "utf8")).toBe(sealedLogOf(startLine, stepLine("1")).toString());
  expect(readLog(path)).toMatchObject({ kind: "thread", broken: null });
});

test("it is on the disk before it is given away, and so is its name before it is written", () => {
  const disk = faultyDisk({});
  useSystem(disk.system);
  const made = () => disk.calls.filter((call) => /^(open|write|rename|sync)/.test(call));
  const prepared = prepare();
  expect(made()).toEqual(["open", "write", "syncData"]);
  takeOver(prepared);
  expect(made().slice(3)).toEqual(["open", "rename", "syncFolder"]);
});

describe("it is not taken over", () => {
  test("when it is gone", () => {
    const prepared = prepare();
    rmSync(prepared.aside);
    expect(takeOver(prepared)).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("when it is longer or shorter than it was", () => {
    const prepared = prepare();
    appendFileSync(prepared.aside, "\n");
    expect(takeOver(prepared)).toBeNull();
    expect(takeOver({ ...prepared, size: prepared.size + 2 })).toBeNull();
    expect(readdirSync(folder)).toEqual([prepared.aside.slice(folder.length + 1)]);
  });

  test.each(["rename", "syncFolder"] as const)("when the disk fails at %s", (call) => {
    const prepared = prepare();
    fail(call);
    expect(() => takeOver(prepared)).toThrow("the disk reported an error");
    expect(readdirSync(folder)).not.toContain("a.data.jsonl");
  });
});

describe("nothing is prepared, and nothing left", () => {
  test.each(["open", "write", "syncData"] as const)("when the disk fails at %s", (call) => {
    fail(call);
    expect(prepareLog(path, start)).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  test("when the record is too long", () => {
    const parameters = { ...start.parameters, prompt: "x".repeat(maxRecordBytes) };
    expect(prepareLog(path, { ...start, parameters })).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });
});
