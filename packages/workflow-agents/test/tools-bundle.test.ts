import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBundle } from "../../workflow/src/bundle/build.ts";
import { checkBytes } from "../../workflow/src/bundle/check.ts";

const source = join(import.meta.dir, "../src");
const mcpServer = join(import.meta.dir, "mcp/server.ts");

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-bundle-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Builds a workflow whose only step is the value of an expression, with `imports` from source files. Runs the workflow
 * with Bun and Node. Returns both outputs, and the size and the text of the bundle.
 */
async function stepOf(expression: string, imports: Record<string, string>) {
  const lines = Object.entries(imports).map(
    ([name, file]) => `import { ${name} } from ${JSON.stringify(join(source, file))};`,
  );
  const file = join(folder, "workflow.ts");
  const workflow = `${lines.join("\n")}
    const play = async (ctx) => ${expression};
    export const descriptor = { description: "", roles: {} };
    export async function* run({ prompt }, { cwd, env, signal }) {
      const start = { role: "__start__", content: prompt, meta: {}, timestamp: 0 };
      yield { role: "a", content: await play({ start, steps: [], cwd, env, signal }), meta: {} };
      return { returnCode: 0, summary: "" };
    }`;
  writeFileSync(file, workflow);
  const { code } = await buildBundle(file);
  expect(checkBytes(code, "workflow.esm.js")).toEqual([]);
  const path = join(folder, "workflow.esm.js");
  writeFileSync(path, code);
  const runner = `
    const { run } = await import(${JSON.stringify(path)});
    const abort = new AbortController();
    const env = { PATH: process.env.PATH };
    const options = { signal: abort.signal, cwd: ${JSON.stringify(folder)}, env };
    for await (const step of run({ prompt: "go", steps: [] }, options)) console.log(step.content);
    abort.abort();`;
  const said: string[] = [];
  for (const command of [[process.execPath], ["node", "--input-type=module"]]) {
    const child = Bun.spawn([...command, "-e", runner], { stderr: "pipe", cwd: folder });
    said.push((await child.stdout.text()) + (await child.stderr.text()));
  }
  return { said, size: code.byteLength, text: new TextDecoder().decode(code) };
}

test("a bundle with a command agent is small, without a schema library or a model's client", async () => {
  const made = await stepOf('commandAgent({ argv: ["cat"] })(ctx, "You say:")', {
    commandAgent: "command/command.ts",
  });
  expect(made.said).toEqual(["You say:\n\ngo\n", "You say:\n\ngo\n"]);
  expect(made.size).toBeLessThan(140_000);
  const claude = await stepOf('claudeCode({ command: "echo" })(ctx, "").catch((e) => e.code)', {
    claudeCode: "command/claude-code.ts",
  });
  expect(claude.said).toEqual(["COMMAND_SAID_NOTHING\n", "COMMAND_SAID_NOTHING\n"]);
  // The bundle includes the prices of models.
  expect(claude.size).toBeLessThan(150_000);
}, 180_000);

test("a bundle with tools is small, without the MCP client", async () => {
  const tools = "toolRegistry([readFile, editFile, search, runCommand()])";
  const call = `(await ${tools}.run("runCommand", { argv: ["echo", "hi"] }, ctx)).content`;
  const made = await stepOf(call, {
    toolRegistry: "tools/registry.ts",
    readFile: "tools/file-tools.ts",
    editFile: "tools/file-tools.ts",
    search: "tools/search.ts",
    runCommand: "tools/run-command.ts",
  });
  expect(made.said).toEqual(["hi\n", "hi\n"]);
  expect(made.size).toBeLessThan(230_000);
  expect(made.text).not.toContain("jsonrpc");
}, 180_000);

test("a bundle with MCP tools includes the MCP client, which works", async () => {
  const address = JSON.stringify({ command: process.execPath, args: [mcpServer, "stdio"] });
  const tools = `toolRegistry([mcpTools({ name: "sums", ...${address} })])`;
  const made = await stepOf(`(await ${tools}.run("sums__add", { a: 1, b: 2 }, ctx)).content`, {
    mcpTools: "mcp/mcp.ts",
    toolRegistry: "tools/registry.ts",
  });
  expect(made.said).toEqual(["3\n", "3\n"]);
  expect(made.size).toBeLessThan(800_000);
}, 180_000);
