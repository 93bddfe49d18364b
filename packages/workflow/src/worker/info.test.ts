import { EventFile } from "../disk/event-file.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../test/fixtures/until.ts";
import { maskOf } from "../contract/mask.ts";
import type { InfoRecord } from "../record/record.ts";
import { InfoLog } from "./info.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "info-test-"));
  path = join(folder, "a.info.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const records = (): InfoRecord[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("the debug log", () => {
  test("is created automatically, in mode 0600", async () => {
    new InfoLog(new EventFile(path)).log("AAAAAAAA", "a");
    expect(existsSync(path)).toBe(false);
    await until(() => existsSync(path) && statSync(path).size > 0);
    expect(records()).toMatchObject([{ tag: "AAAAAAAA", content: "a" }]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("starts with its worker's event, without delaying a step", async () => {
    const begun = { tag: "AAAAAAAA", type: "worker_start", stepID: null, payload: { pid: 7 } };
    const info = new InfoLog(new EventFile(path));
    info.begin(begun);
    info.flushEvents();
    expect(existsSync(path)).toBe(false);
    info.event({ tag: "AAAAAAAA", type: "note", stepID: null, payload: {} });
    info.flushEvents();
    const found = records().map(({ content, ...record }) => [
      content,
      "seq" in record && record.seq,
    ]);
    expect(found).toEqual([
      ["worker_start", 1],
      ["note", 2],
    ]);
    rmSync(path);
    new InfoLog(new EventFile(path)).begin(begun);
    await until(() => existsSync(path) && statSync(path).size > 0);
    expect(records()).toMatchObject([{ content: "worker_start", payload: { pid: 7 } }]);
  });

  test("has a model call's usage at once, with all earlier events", () => {
    const info = new InfoLog(new EventFile(path));
    info.log("AAAAAAAA", "a");
    info.event({ tag: "AAAAAAAA", type: "llm_token", stepID: "coder", payload: { delta: "Hm" } });
    info.event({
      tag: "AAAAAAAA",
      type: "llm_usage",
      stepID: "coder",
      payload: { usage: { input_tokens: 1 } },
    });
    expect(records().map(({ content }) => content)).toEqual(["a", "llm_token", "llm_usage"]);
  });

  test("continues the numbering of events of another process", () => {
    const info = new InfoLog(new EventFile(path));
    info.event({ tag: "AAAAAAAA", type: "tool_start", stepID: "coder", payload: {} });
    info.event({ tag: "AAAAAAAA", type: "tool_done", stepID: "coder", payload: {} });
    info.flush();
    const next = new InfoLog(new EventFile(path));
    next.event({ tag: "AAAAAAAA", type: "llm_done", stepID: null, payload: {} });
    next.flush();
    expect(records().map(({ seq, type, stepID }) => [seq, type, stepID])).toEqual([
      [1, "tool_start", "coder"],
      [2, "tool_done", "coder"],
      [3, "llm_done", null],
    ]);
  });

  test("masks secrets in lines and payloads", () => {
    const info = new InfoLog(new EventFile(path), maskOf({ MY_KEY: "hunter22" }));
    info.log("AAAAAAAA", "the key is hunter22");
    info.event({
      tag: "AAAAAAAA",
      type: "tool_start",
      stepID: null,
      payload: { args: ["hunter22"] },
    });
    info.flush();
    expect(readFileSync(path, "utf8")).not.toContain("hunter22");
    expect(records()).toHaveLength(2);
  });

  test("never throws: a cycle, a BigInt and a throwing toJSON are logged as truncated", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const angry = {
      toJSON: () => {
        throw new Error("no");
      },
    };
    const info = new InfoLog(new EventFile(path));
    for (const payload of [cycle, { n: 1n }, angry])
      info.event({ tag: "AAAAAAAA", type: "own", stepID: null, payload });
    info.flush();
    expect(records().map(({ payload }) => payload)).toEqual(
      [1, 2, 3].map(() => ({ _truncated: true })),
    );
  });

  test("shortens long lines", () => {
    const info = new InfoLog(new EventFile(path));
    info.log("AAAAAAAA", "x".repeat(10 << 20));
    info.flush();
    expect(statSync(path).size).toBeLessThan(2000);
  });

  test("does not write through a symbolic link or to a FIFO", () => {
    writeFileSync(join(folder, "target"), "precious");
    symlinkSync(join(folder, "target"), path);
    const linked = new InfoLog(new EventFile(path));
    linked.log("AAAAAAAA", "a");
    linked.flush();
    expect(readFileSync(join(folder, "target"), "utf8")).toBe("precious");
    const fifo = join(folder, "fifo");
    Bun.spawnSync(["mkfifo", fifo]);
    const waiting = new InfoLog(new EventFile(fifo));
    waiting.log("AAAAAAAA", "a");
    waiting.flush();
  });
});
