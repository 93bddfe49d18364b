import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mcpTools } from "../src/mcp/mcp.ts";
import { editFile, readFile } from "../src/tools/file-tools.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { runCommand } from "../src/tools/run-command.ts";
import { models, threadAt } from "./models.ts";
import { observed, typesOf } from "./published.ts";
import type { ReplyTool } from "./wire.ts";

const server = join(import.meta.dir, "mcp/server.ts");

let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-model-")));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const edit = { path: "sum.ts", oldText: "a - b", newText: "a + b" };
const calls: ReplyTool[][] = [
  [{ name: "readFile", input: { path: "sum.ts" } }],
  [
    { name: "readFile", input: { path: "../../etc/passwd" } },
    { name: "editFile", input: { ...edit, oldText: "a * b" } },
    { name: "rm", input: {} },
    { name: "editFile", input: edit },
  ],
  [
    { name: "runCommand", input: { argv: ["cat", "sum.ts"] } },
    { name: "sums__add", input: { a: 1, b: 2 } },
  ],
];

test.each(models.map((model) => [model.name, model] as const))(
  "%s uses file tools, commands and an MCP server, and reads the errors of its calls",
  async (_, model) => {
    writeFileSync(join(cwd, "sum.ts"), "const sum = (a, b) => a - b;\n");
    const replies = calls.map((tools) => ({ text: "Now.", tools }));
    const at = await model.serve([...replies, { text: "The sum is fixed." }]);
    const sums = mcpTools({ name: "sums", command: process.execPath, args: [server, "stdio"] });
    const tools = toolRegistry([readFile, editFile, runCommand(), sums]);
    const abort = new AbortController();
    const agent = model.agent({ tools });
    const { env, ...thread } = threadAt(model, at, { cwd, signal: abort.signal });
    const surroundings = { ...thread, env: { ...env, PATH: process.env.PATH ?? "" } };
    const run = await observed(() => agent(surroundings, "You code."));
    abort.abort();
    await at.stop();
    expect(run.error).toBeNull();
    expect(run.text).toContain("The sum is fixed.");
    expect(readFileSync(join(cwd, "sum.ts"), "utf8")).toBe("const sum = (a, b) => a + b;\n");
    const results = run.events.filter(({ type }) => type === "llm_tool_result");
    const shown = results.map(({ payload }) => String(payload.content)).toSorted();
    expect(shown).toEqual([
      '"../../etc/passwd" leads out of the thread\'s directory\ngive a path inside the working directory',
      '"sum.ts" does not contain the text\nread the file again, and give the exact text',
      "3",
      "changed sum.ts",
      "const sum = (a, b) => a + b;",
      "const sum = (a, b) => a - b;\n",
      'unknown tool "rm"\ntools: readFile, editFile, runCommand, sums__add, sums__odd_name, sums__fail, sums__throw, sums__die, sums__hang, sums__env, sums__seen, sums__mixed',
    ]);
    expect(typesOf(run)).toContain("tool_error");
    const failed = run.events.filter(({ type }) => type === "tool_error");
    expect(failed.map(({ payload }) => String(payload.code)).toSorted()).toEqual([
      "EDIT_FAILED",
      "PATH_OUTSIDE",
      "TOOL_UNKNOWN",
    ]);
  },
  180_000,
);
