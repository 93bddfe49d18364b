import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { AgentFn } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { claudeCode } from "../src/command/claude-code.ts";
import { cursor } from "../src/command/cursor.ts";
import { costOf } from "../src/ledger/prices.ts";
import type { RoleRun } from "../src/run/run.ts";
import { observed, threadOf } from "./published.ts";

setDefaultTimeout(180_000);
let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-lost-")));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const line = (value: object) => `echo '${JSON.stringify(value).replaceAll("'", "'\\''")}'\n`;
const init = (model = "claude-x") =>
  line({ type: "system", subtype: "init", session_id: "s", model });
const message = (text: string, more: object = {}, id = "m1") => {
  const usage = { input_tokens: 5, output_tokens: 2 };
  const content = [{ type: "text", text }, ...(Object.keys(more).length > 0 ? [more] : [])];
  return line({ type: "assistant", message: { id, model: "claude-x", content, usage } });
};
const result = (text: unknown, more = {}) =>
  line({ type: "result", subtype: "success", is_error: false, result: text, ...more });
const call = { type: "tool_use", id: "t", name: "Read", input: {} };
const read = line({
  type: "user",
  message: { content: [{ type: "tool_result", tool_use_id: "t" }] },
});

/** Runs an agent whose command is a shell script. The script writes its stdin and its arguments to files. */
async function play(
  script: string,
  agent: AgentFn,
  name: string,
  system = "s",
  more: Partial<RoleRun> = {},
) {
  const file = join(cwd, name);
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" >argv\ncat >input\n${script}`);
  chmodSync(file, 0o755);
  const env = { PATH: `${cwd}${delimiter}${process.env.PATH}` };
  const seen = await observed(() => agent(threadOf({ cwd, env }), system), more);
  const notes = seen.events.flatMap(({ payload, type }) =>
    type === "tool_message" && payload.level === "warn" ? [String(payload.message)] : [],
  );
  return { ...seen, notes: notes.filter((note) => !note.includes("bubblewrap")) };
}

const claude = (script: string, options = {}) => play(script, claudeCode(options), "claude");

describe("an answer of Claude Code is accepted", () => {
  test.each([
    ["when its result is empty", result(""), "no result reported"],
    ["when its result has no text", result(undefined), "no result reported"],
    ["when its result is not text", result({ a: 1 }), "result has a part without text"],
    ["when the result is missing", "", "no result reported"],
    [
      "when the command exits with 1",
      `${result("the answer")}exit 1\n`,
      "it ended with exit code 1",
    ],
    [
      "when the command is killed",
      `${result("the answer")}kill -9 $$\n`,
      "it was ended by SIGKILL",
    ],
  ])("with a warning, %s", async (_, rest, warning) => {
    const { error, notes, text } = await claude(init() + message("the answer") + rest);
    expect(error).toBeNull();
    expect(text).toBe("the answer");
    expect(notes).toEqual([expect.stringContaining(warning)]);
  });

  test.each(["\\033[2J\\033[0m", "working\\r", "\\357\\273\\277"])(
    "without a warning, when %s precedes the result",
    async (before) => {
      const { notes, text } = await claude(`${init()}printf '${before}'\n${result("the answer")}`);
      expect([text, notes]).toEqual(["the answer", []]);
    },
  );

  test("with the usage so far, when the line of the result is cut off", async () => {
    const script = `${init() + message("the answer")}printf '{"type":"result","resu'\n`;
    const { spent, text } = await claude(script);
    const usage = { ...noUsage, input_tokens: 5, output_tokens: 2 };
    expect([text, spent]).toEqual(["the answer", [expect.objectContaining({ usage })]]);
  });

  test("with a warning, when the command never ends", async () => {
    const script = `${init() + result("the answer")}sleep 600\n`;
    const { notes, text } = await claude(script, { graceMs: 50 });
    expect(text).toBe("the answer");
    expect(notes).toEqual([expect.stringContaining("it did not end for 600 ms, and was ended")]);
  });
});

describe("an answer of Claude Code is not accepted", () => {
  test.each([
    [
      "when the last text is before a tool call and the result is empty",
      message("I look.", call) + read + result(""),
    ],
    [
      "when the last text is before a tool call and the result is missing",
      message("I look.", call) + read,
    ],
    [
      "when text without a result follows the result",
      `${result("1")}${message("I go on.", {}, "m2")}exit 1\n`,
    ],
    ["when the command exits with 1 before its result", `${message("the answer")}exit 1\n`],
  ])("%s", async (_, script) => {
    const { error } = await claude(init() + script);
    expect(error).not.toBeNull();
  });

  test.each([
    "Claude AI usage limit reached|1718000000",
    "You've hit your limit · resets 3am (UTC)",
    "5-hour limit reached ∙ resets 3pm",
    "Credit balance is too low",
    "You're out of extra usage · resets Oct 1, 2pm (UTC)",
    "Spending cap reached resets 8pm",
  ])("when it is '%s'", async (text) => {
    const { error } = await claude(init() + result(text));
    expect(error).toMatchObject({
      code: "COMMAND_FAILED",
      message: `the command "claude" failed: ${text}`,
      hint: "retry the thread when the limit is reset, or give the role a fallback",
    });
  });

  test.each([
    "API Error: Repeated 529 Overloaded errors",
    "Failed to authenticate. API Error: 401 OAuth token has expired.",
    "Prompt is too long",
  ])("when it is '%s'", async (text) => {
    const { error } = await claude(init() + result(text));
    expect(error).toMatchObject({ message: `the command "claude" failed: ${text}` });
  });

  test.each([
    ["and the result is empty", result("")],
    ["and the result is missing", ""],
  ])("when the last message reports a limit, %s", async (_, rest) => {
    const limit = "You've hit your limit · resets 3am (UTC)";
    const { error } = await claude(init() + message(limit) + rest);
    expect(error).toMatchObject({ message: `the command "claude" failed: ${limit}` });
    const on = await claude(init() + message(limit) + message("the answer", {}, "m2") + rest);
    expect([on.error, on.text]).toEqual([null, "the answer"]);
  });

  test("when Claude Code itself wrote the answer instead of a model", async () => {
    const said = { id: "m", model: "<synthetic>", content: [{ type: "text", text: "Not now." }] };
    const { error } = await claude(line({ type: "assistant", message: said }) + result("Not now."));
    expect(error).toMatchObject({ message: 'the command "claude" failed: Not now.' });
  });
});

test("instructions and threads of any length reach their command, and stay out of process lists", async () => {
  const long = "x".repeat(200_000);
  const asked = await play(result("ok"), claudeCode(), "claude", long);
  expect(asked.text).toBe("ok");
  expect(readFileSync(join(cwd, "input"), "utf8")).toBe(`${long}\n\nfix the sum`);
  const prompted = await play(result("ok"), cursor({ message: () => long }), "cursor-agent");
  expect(prompted.text).toBe("ok");
  expect(readFileSync(join(cwd, "input"), "utf8")).toBe(`s\n\n${long}`);
  expect(readFileSync(join(cwd, "argv"), "utf8")).not.toContain("x".repeat(100));
});

describe("the spending of Claude Code", () => {
  const used = { inputTokens: 1000, outputTokens: 100 };
  const spent = (more: object) => claude(init("claude-opus-4-8[1m]") + result("ok", more));

  test("is attributed to the model without the suffix for its context window", async () => {
    const since = { "claude-opus-4-8[1m]": { ...used, costUSD: 0.5 } };
    const run = await spent({ model_usage_since_last_result: since });
    expect(run.spent).toMatchObject([{ model: "claude-opus-4-8", cost: 0.5 }]);
    const counted = await spent({ usage: { input_tokens: 1000, output_tokens: 100 } });
    expect(counted.spent).toMatchObject([{ model: "claude-opus-4-8", cost: null }]);
    const usage = { ...noUsage, input_tokens: 1000, output_tokens: 100 };
    expect(costOf("claude-opus-4-8", usage)).toBeGreaterThan(0);
  });

  test("is the reported total when the model's price is unknown", async () => {
    const usage = { input_tokens: 1000, output_tokens: 100 };
    const results = [0.25, 0.75].map((total_cost_usd) => result("ok", { usage, total_cost_usd }));
    const run = await claude(init("claude-next") + results.join(""));
    expect(run.spent.map(({ cost }) => cost)).toEqual([0.25, 0.5]);
  });

  test("is reported once as not counted toward a cost limit when the model's price is unknown", async () => {
    const script = init("claude-next") + init("claude-next") + result("ok");
    const more = { limitsCost: true, withCost: (one: RoleRun["spent"][number]) => one };
    const { notes } = await play(script, claudeCode(), "claude", "s", more);
    expect(notes).toEqual([expect.stringContaining("the price of model claude-next is not known")]);
    expect((await play(script, claudeCode(), "claude")).notes).toEqual([]);
  });
});
