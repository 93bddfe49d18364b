import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { programWords } from "./command.ts";
import { newFolder, removeFolders, Store } from "./program.ts";

/* The real Claude Code as a client of `mcp` and of `/mcp`, with a script in place of its model. */
const agents = createRequire(import.meta.resolve("@uncaged/workflow-agents"));
const wrapper = createRequire(agents.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const claude = join(dirname(wrapper.resolve(own)), "claude");

afterAll(removeFolders);

const source = `export const descriptor = { description: "Ships a release", roles: {} };
export async function* run(input) {
  const { steps, prompt } = input;
  if (steps.length === 0) yield { role: "build", content: "built " + prompt, meta: {} };
  if (steps.length < 2) yield { role: "__wait__", content: "Which channel?", meta: { for: "channel" } };
  if (prompt === "broken")
    throw new Error("no such channel");
  if (steps.length < 4) yield { role: "__wait__", content: "Ship it?", meta: { for: "approval" } };
  return { returnCode: 0, summary: "shipped " + prompt };
}
`;

/** Runs Claude Code on a script of tool calls, and returns the result of each call as the model reads it. */
async function claudeCalls(
  server: object,
  folder: string,
  script: ((results: string[]) => Record<string, object>)[],
): Promise<string[]> {
  const results: string[] = [];
  const model = await anthropicServer(({ messages = [], tools }): Reply => {
    if (!tools?.some((tool) => "name" in tool && tool.name.startsWith("mcp__")))
      return { text: "ok" };
    const last = messages.at(-1)?.content;
    for (const block of Array.isArray(last) ? last : []) {
      if (block.type !== "tool_result") continue;
      const { content = "" } = block;
      const texts =
        typeof content === "string"
          ? [content]
          : content.map((one) => ("text" in one ? one.text : ""));
      results.push(texts.join("\n"));
    }
    const next = script[results.length];
    if (!next) return { text: "done" };
    const [[name, input] = ["", {}]] = Object.entries(next(results));
    return { tools: [{ name: `mcp__uncaged__${name}`, input }] };
  });
  try {
    const config = join(folder, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { uncaged: server } }));
    const words = ["-p", "Ship it", "--mcp-config", config, "--strict-mcp-config"];
    const child = Bun.spawn([claude, ...words, "--allowedTools", "mcp__uncaged"], {
      cwd: folder,
      env: {
        ...{ PATH: process.env.PATH, HOME: newFolder(), ENABLE_TOOL_SEARCH: "false" },
        ...{ ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", CLAUDE_CODE_MAX_RETRIES: "0" },
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    if (code !== 0) throw new Error(`claude: ${code}\n${stdout}${stderr}`);
    console.log(
      stdout,
      stderr,
      model.came.length,
      JSON.stringify(model.came.map((c) => (c.body as any).tools?.map((t: any) => t.name))).slice(
        0,
        3000,
      ),
    );
    return results;
  } finally {
    await model.stop();
  }
}

test("debug", async () => {
  const store = new Store();
  const server = {
    command: programWords[0],
    args: [...programWords.slice(1), "mcp"],
    env: store.env,
  };
  const file = join(store.folder, "ship.ts");
  writeFileSync(file, source);
  const results = await claudeCalls(server, store.folder, [
    () => ({ add_workflow: { name: "ship", file } }),
    () => ({ start_thread: { workflow: "ship", prompt: "v1", wait: 30 } }),
    () => ({ answer_thread: { threadId: "@last", answer: "beta", wait: 30 } }),
    () => ({ answer_thread: { threadId: "@last", answer: "approve", question: 4 } }),
    () => ({ get_thread: { threadId: "@last", cursor: "steps:1" } }),
  ]);
  console.log(results.join("\n=====\n"));
  expect(readFileSync(file, "utf8")).toBe(source);
}, 180_000);
