import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "@uncaged/workflow";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { readClaudeCode } from "../src/command/claude-code.ts";
import { commandAgent } from "../src/command/command.ts";
import type { LineReader } from "../src/command/reader.ts";
import { tryMutation } from "./mutated-commands.ts";
import { mutationsOf } from "./mutations.ts";
import { observed, threadOf } from "./published.ts";

/*
 * Tests command agents whose output has fields of unexpected types. The agent returns the answer or a readable error,
 * but never an empty answer.
 */
setDefaultTimeout(180_000);
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-commands-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const answer = "the sum is fixed";
const usage = { input_tokens: 3, output_tokens: 5 };
const message = {
  id: "m1",
  model: "claude-opus-5-5",
  usage,
  content: [{ type: "text", text: answer }],
};
const lines = [
  { type: "system", subtype: "init", session_id: "s1", model: "claude-opus-5-5" },
  { type: "assistant", message, session_id: "s1" },
  { type: "result", subtype: "success", is_error: false, result: answer, session_id: "s1", usage },
];

async function run(output: readonly unknown[], reader: LineReader = readClaudeCode) {
  const file = join(folder, "output");
  writeFileSync(file, output.map((line) => `${JSON.stringify(line)}\n`).join(""));
  // With `allowsEmpty`, an agent that loses the answer would return an empty text, which the test would notice.
  const agent = commandAgent({ argv: ["cat", file], output: reader, allowsEmpty: true });
  return await observed(() => agent(threadOf({ env: { PATH: process.env.PATH ?? "" } }), ""));
}

test("a result of Claude Code with fields of unexpected types yields the answer or a readable error", async () => {
  expect((await run(lines)).text).toBe(answer);
  const [, , result] = lines;
  for (const { name, events } of mutationsOf([result])) {
    const { error, events: published, text } = await run([...lines.slice(0, 2), ...events]);
    const seen = JSON.stringify([text, published]) + (error instanceof Error ? error.message : "");
    expect({ name, seen }).not.toMatchObject({
      seen: expect.stringMatching(/\[object |undefined|\bNaN\b|TypeError/),
    });
    expect(error === null || isWorkflowError(error)).toBe(true);
    if (error === null) expect({ name, text }).toEqual({ name, text: answer });
  }
});

test("a result that is not text fails the command, even with a custom reader", async () => {
  const odd = { ...lines[2], result: { text: { a: 1 } } };
  expect((await run([...lines.slice(0, 1), odd])).error).toMatchObject({
    code: "COMMAND_FAILED",
    message: 'the command "cat" failed: result.text has a part without text',
  });
  const own: LineReader = () => (line) => [
    { kind: "result", text: (line as { result: string }).result },
  ];
  expect((await run([{ result: [1] }], own)).error).toMatchObject({
    code: "COMMAND_FAILED",
    message: 'the command "cat" failed: invalid result: a list, not text',
  });
});

test.each(["claude", "codex", "cursor"] as const)(
  "the output of %s with random changes yields the answer or a readable error",
  async (name) => {
    for (let seed = 0; seed < (isWhole ? 200 : 60); seed += 1)
      await tryMutation(folder, name, seed);
  },
);
