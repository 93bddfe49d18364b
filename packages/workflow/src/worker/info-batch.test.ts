import { EventFile } from "../disk/event-file.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../test/fixtures/until.ts";
import { maskOf } from "../contract/mask.ts";
import { truncated } from "../contract/event.ts";
import type { InfoRecord } from "../record/record.ts";
import { InfoLog } from "./info.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "events-test-"));
  path = join(folder, "a.info.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tag = "AAAAAAAA";
const records = (): InfoRecord[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const deltaOf = ({ payload }: InfoRecord) => (payload as { delta?: string } | undefined)?.delta;
const batched = () =>
  records().map((record) => `${record.stepID} ${record.type} ${deltaOf(record) ?? ""}`.trim());

/** Streams a text in pieces of `size` characters. */
function stream(info: InfoLog, text: string, size: number, stepID = "coder"): void {
  for (let at = 0; at < text.length; at += size) {
    info.event({ tag, type: "llm_token", stepID, payload: { delta: text.slice(at, at + size) } });
  }
}

describe("streamed text", () => {
  test("becomes few lines, complete and in order", async () => {
    const info = new InfoLog(new EventFile(path));
    const text = Array.from({ length: 2000 }, (_, n) => `token${n} `).join("");
    for (const word of text.split(/(?<= )/)) {
      info.event({ tag, type: "llm_token", stepID: "coder", payload: { delta: word } });
      if (word.endsWith("00 ")) await Bun.sleep(5);
    }
    info.flush();
    expect(records().map(deltaOf).join("")).toBe(text);
    expect(records().length).toBeLessThan(40);
    expect(records().map(({ seq }) => seq)).toEqual(records().map((_, index) => index + 1));
  });

  test("keeps its place among the other events of its step", () => {
    const info = new InfoLog(new EventFile(path));
    info.event({ tag, type: "llm_thinking", stepID: "coder", payload: { delta: "hm" } });
    info.event({ tag, type: "llm_thinking", stepID: "coder", payload: { delta: "m" } });
    stream(info, "I look", 1);
    info.event({ tag, type: "llm_tool_use", stepID: "coder", payload: { name: "read" } });
    stream(info, "now", 2);
    info.event({ tag, type: "llm_done", stepID: "coder", payload: {} });
    info.flush();
    expect(batched()).toEqual([
      "coder llm_thinking hmm",
      "coder llm_token I look",
      "coder llm_tool_use",
      "coder llm_token now",
      "coder llm_done",
    ]);
  });

  test("of two concurrent steps is kept separate, and after any earlier event", () => {
    const info = new InfoLog(new EventFile(path));
    for (const [a, b] of ["a1", "b2", "c3"]) {
      info.event({ tag, type: "llm_token", stepID: "one", payload: { delta: a } });
      info.event({ tag, type: "llm_token", stepID: "two", payload: { delta: b } });
    }
    info.event({ tag, type: "tool_start", stepID: "two", payload: {} });
    stream(info, "later", 1, "one");
    info.flush();
    expect(batched()).toEqual([
      "one llm_token abc",
      "two llm_token 123",
      "two tool_start",
      "one llm_token later",
    ]);
  });

  test("is written while it streams, without waiting for its end", async () => {
    const info = new InfoLog(new EventFile(path));
    stream(info, "Hello", 1);
    await until(() => existsSync(path) && statSync(path).size > 0);
    expect(batched()).toEqual(["coder llm_token Hello"]);
  });

  test("of 50 MB is split into lines without losing or splitting a character", () => {
    const info = new InfoLog(new EventFile(path));
    const text = `a${"😀".repeat(12_500_000)}`;
    info.event({ tag, type: "llm_token", stepID: "coder", payload: { delta: text } });
    info.flush();
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(64 * 1024);
    expect(records().map(deltaOf).join("") === text).toBe(true);
    expect(records().every((record) => deltaOf(record)?.isWellFormed())).toBe(true);
  });

  test("stays in memory for one batch at most", () => {
    const info = new InfoLog(new EventFile(path));
    stream(info, "x".repeat(1024 * 1024), 16);
    expect(statSync(path).size).toBeGreaterThan(900 * 1024);
  });
});

describe("a secret", () => {
  const secret = "sk-ant-0123456789";
  const mask = maskOf({ ANTHROPIC_API_KEY: secret });
  const text = () => readFileSync(path, "utf8");

  test.each([1, 2, 3, 5, 7, 16])("that streams %d characters at a time is masked", (size) => {
    const info = new InfoLog(new EventFile(path), mask);
    for (let at = 0; at < secret.length; at += size) {
      stream(info, secret.slice(at, at + size), size);
      info.event({ tag, type: "tool_message", stepID: "beside", payload: {} });
      info.log(tag, "a line in between");
    }
    stream(info, " is the key", 3);
    info.flush();
    expect(records().map(deltaOf).join("")).toBe("*** is the key");
    expect(text()).not.toContain("ant-0123");
  });

  test("that streams only in part is not masked", () => {
    const info = new InfoLog(new EventFile(path), mask);
    stream(info, "sk-ant-", 1);
    info.log(tag, "a line in between");
    info.event({ tag, type: "llm_done", stepID: "coder", payload: {} });
    stream(info, "it is sk-", 1);
    info.flush();
    expect(records().map(deltaOf).filter(Boolean)).toEqual(["sk-ant-", "it is sk-"]);
  });

  test("that looks like a number or a field name keeps the line valid JSON", () => {
    const info = new InfoLog(
      new EventFile(path),
      maskOf({ PIN_TOKEN: "12345678", A_KEY: "timestamp" }),
    );
    info.event({
      tag,
      type: "llm_done",
      stepID: "coder",
      payload: { usage: 12345678, of: "12345678", timestamp: 1 },
    });
    info.flush();
    expect(records()).toMatchObject([
      { type: "llm_done", timestamp: expect.any(Number), payload: { usage: 12345678, of: "***" } },
    ]);
  });

  test("is not revealed by the preview of a truncated value", () => {
    const info = new InfoLog(new EventFile(path), mask);
    const output = `${"y".repeat(190)}${secret}${"y".repeat(11_000)}`;
    info.event({ tag, type: "tool_done", stepID: "coder", payload: { output } });
    info.event({ tag, type: "tool_done", stepID: "coder", payload: { output: truncated(output) } });
    info.flush();
    expect(text()).not.toContain("sk-ant");
    const [ours, theirs] = records().map(({ payload }) => (payload as { output: unknown }).output);
    expect(ours).toMatchObject({ _truncated: true });
    expect(theirs).toMatchObject({ _truncated: true, preview: `"${"y".repeat(190)}...` });
  });
});

describe("a value over 10 KB", () => {
  test("is truncated, and its siblings are not", () => {
    const info = new InfoLog(new EventFile(path));
    const big = { text: "z".repeat(20_000) };
    const resolvedInputs = { request: "small", big };
    info.event({
      tag,
      type: "step_start",
      stepID: "coder",
      payload: {
        type: "LLM",
        resolvedInputs,
        message: "z".repeat(11_000),
      },
    });
    info.flush();
    const cut = { _truncated: true, type: "object", length: 20_011 };
    expect(records()[0]?.payload).toMatchObject({
      type: "LLM",
      resolvedInputs: { request: "small", big: cut },
      message: {
        _truncated: true,
        type: "string",
        length: 11_002,
        preview: `"${"z".repeat(199)}...`,
      },
    });
  });
});

describe("the log", () => {
  test("records an event as it was when published, despite later changes", () => {
    const info = new InfoLog(new EventFile(path));
    const payload = { n: 1 };
    info.event({ tag, type: "own", stepID: null, payload });
    payload.n = 2;
    info.flush();
    expect(records()[0]?.payload).toEqual({ n: 1 });
  });

  test("continues on a new line after a partial line of a crash", () => {
    const first = new InfoLog(new EventFile(path));
    first.event({ tag, type: "own", stepID: null, payload: {}, step: 1 });
    first.flush();
    appendFileSync(path, '{"tag":"AAAA');
    const next = new InfoLog(new EventFile(path));
    next.event({ tag, type: "own", stepID: null, payload: {}, step: 2 });
    next.flush();
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ seq: 2, step: 2 });
  });

  test("continues the numbering after a distant last event", () => {
    const first = new InfoLog(new EventFile(path));
    first.event({ tag, type: "own", stepID: null, payload: {} });
    first.flush();
    for (let n = 0; n < 100; n += 1) first.log(tag, "x".repeat(10_000));
    first.flush();
    const next = new InfoLog(new EventFile(path));
    next.event({ tag, type: "own", stepID: null, payload: {} });
    next.flush();
    expect(records().at(-1)?.seq).toBe(2);
  });

  test("drops entries after it is closed", async () => {
    const info = new InfoLog(new EventFile(path));
    info.event({ tag, type: "own", stepID: null, payload: {} });
    info.close();
    rmSync(path);
    info.event({ tag, type: "own", stepID: null, payload: {} });
    info.log(tag, "late");
    await Bun.sleep(0);
    info.flush();
    expect(existsSync(path)).toBe(false);
  });
});
