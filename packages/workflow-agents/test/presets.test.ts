import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { AgentFn } from "@uncaged/workflow";
import { codex } from "../src/command/codex.ts";
import { cursor } from "../src/command/cursor.ts";
import { type Observed, observed, agentEventsOf, threadOf } from "./published.ts";

const commands = join(import.meta.dir, "commands");

let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-preset-")));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

/** Runs an agent whose command replays recorded lines and writes its arguments to a file. */
async function play(agent: AgentFn, name: string, lines: string, memory = {}): Promise<Observed> {
  const file = join(cwd, name);
  const program = JSON.stringify(join(commands, "agent.mjs"));
  const recorded = JSON.stringify(join(commands, lines));
  writeFileSync(file, `#!/bin/sh\nAGENT_LINES=${recorded} exec node ${program} play "$@"\n`);
  chmodSync(file, 0o755);
  const env = { PATH: `${cwd}${delimiter}${process.env.PATH}` };
  const thread = threadOf({ cwd, env, role: "coder" });
  return await observed(() => agent(thread, "You code."), { memory });
}

const argv = () => JSON.parse(readFileSync(join(cwd, "argv.json"), "utf8")) as string[];
const reported = (run: Observed) =>
  agentEventsOf(run).map(({ type, payload }) => {
    const { delta, tool_use_id, name, input, content, is_error } = payload;
    return [type, delta ?? { tool_use_id, name, input, content, is_error }];
  });

describe("an agent of Codex", () => {
  test("runs without a terminal interface, and its output becomes events", async () => {
    const memory = {};
    const run = await play(codex({ model: "gpt-5.5-codex" }), "codex", "codex.jsonl", memory);
    expect(run.text).toBe("The sum is fixed.");
    expect(argv()).toEqual([
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--sandbox",
      "workspace-write",
      "--model",
      "gpt-5.5-codex",
      "-",
    ]);
    const session = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    expect(memory).toMatchObject({ sessions: [{ command: "codex", session, steps: 0 }] });
    const result = { content: "sum.ts\n", is_error: false };
    expect(reported(run).slice(0, -1)).toMatchObject([
      ["llm_thinking", "**Looking for the sum**\n"],
      ["llm_tool_use", { tool_use_id: "item_1", name: "command" }],
      ["llm_tool_result", { tool_use_id: "item_1", ...result }],
      ["llm_tool_use", { tool_use_id: "item_2", name: "file_change" }],
      ["llm_tool_result", { tool_use_id: "item_2", content: "completed", is_error: false }],
      ["llm_tool_use", { tool_use_id: "item_3", name: "docs__find", input: { q: "sum" } }],
      ["llm_tool_result", { content: { message: "offline" }, is_error: true }],
      ["llm_token", "The sum is fixed.\n"],
    ]);
    const usage = { input_tokens: 315, cache_read_tokens: 24448, output_tokens: 122 };
    expect(run.spent).toMatchObject([{ model: "gpt-5.5-codex", usage, cost: null }]);
  });

  test("continues its session", async () => {
    await play(codex(), "codex", "codex.jsonl", {
      sessions: [{ command: "codex", session: "abc", steps: 0 }],
    });
    expect(argv().slice(-3)).toEqual(["resume", "abc", "-"]);
  });

  test("reports the reason for a failed turn", async () => {
    const { error } = await play(codex(), "codex", "codex-failed.jsonl");
    expect(error).toMatchObject({
      code: "COMMAND_FAILED",
      message: 'the command "codex" failed: the quota is used up',
    });
  });
});

describe("an agent of Cursor", () => {
  test("runs without a terminal interface, and its output becomes events", async () => {
    const memory = { sessions: [{ command: "cursor-agent", session: "before", steps: 0 }] };
    const run = await play(cursor(), "cursor-agent", "cursor.jsonl", memory);
    expect(run.text).toBe("I'll read it. The sum is fixed.");
    const options = "--print --output-format stream-json --force --resume before";
    expect(argv()).toEqual(options.split(" "));
    expect(memory.sessions[0]?.session).toBe("c6b62c6f-7ead-4fd6-9922-e952131177ff");
    const read = { content: "a - b", totalLines: 1 };
    expect(reported(run).slice(0, -1)).toMatchObject([
      ["llm_token", "I'll read it. "],
      ["llm_tool_use", { tool_use_id: "call_1", name: "read", input: { path: "sum.ts" } }],
      ["llm_tool_result", { tool_use_id: "call_1", content: read, is_error: false }],
      ["llm_tool_use", { tool_use_id: "call_2", name: "lint", input: "{}" }],
      ["llm_token", "The sum is fixed."],
    ]);
    expect(run.spent).toEqual([]);
  });
});
