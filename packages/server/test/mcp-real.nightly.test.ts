import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { command } from "../../cli-workflow/test/command.ts";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { ServingProcess, stopServing } from "./serving.ts";

/*
 * Real clients of `mcp` and `/mcp`: Claude Code, with a script in place of its model, and the command line of the MCP
 * Inspector, which npx fetches.
 */
const agents = createRequire(import.meta.resolve("@uncaged/workflow-agents"));
const wrapper = createRequire(agents.resolve("@anthropic-ai/claude-code/package.json"));
const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
const claude = join(dirname(wrapper.resolve(own)), "claude");
const inspector = "@modelcontextprotocol/inspector@2.12.0";
const timeoutMs = 300_000;

let serving: ServingProcess;
beforeAll(async () => {
  serving = await ServingProcess.start();
});
afterAll(stopServing);

/** The configurations of a client for both transports. */
const transports = {
  mcp: (...flags: string[]) => ({ command, args: ["mcp", ...flags], env: serving.env }),
  "/mcp": () => ({
    ...{ type: "http", url: `http://127.0.0.1:${serving.port}/mcp` },
    headers: { Authorization: `Bearer ${serving.token}` },
  }),
};

const source = `export const descriptor = { description: "Ships a release", roles: {} };
export async function* run({ steps, prompt }) {
  if (steps.length < 1) yield { role: "build", content: "built " + prompt, meta: {} };
  if (steps.length < 2) yield { role: "__wait__", content: "Which channel?", meta: { for: "channel", schema: { type: "string" } } };
  if (prompt === "v2")
    throw new Error("no such channel");
  if (steps.length < 4) yield { role: "__wait__", content: "Ship it?", meta: { for: "approval" } };
  return { returnCode: 0, summary: "shipped " + prompt };
}
`;

async function output(words: string[], env: Record<string, string | undefined>) {
  const child = Bun.spawn(words, {
    ...{ cwd: serving.folder, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  });
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  if (code !== 0) throw new Error(`${words[0]}: exit code ${code}\n${stdout}${stderr}`);
  return stdout;
}

type Calls = ((results: string[]) => [tool: string, input: object])[];

/** Runs Claude Code on a script of tool calls. Returns the result of each call in the form for the model. */
async function claudeCalls(server: object, script: Calls): Promise<string[]> {
  const results: string[] = [];
  const model = await anthropicServer(({ messages, tools }): Reply => {
    const isMain = tools?.some((tool) => "name" in tool && tool.name.startsWith("mcp__uncaged__"));
    if (!isMain) return { text: "ok" };
    const last = messages.at(-1)?.content;
    for (const block of Array.isArray(last) ? last : []) {
      if (block.type !== "tool_result") continue;
      const { content = "" } = block;
      const parts = typeof content === "string" ? [{ text: content }] : content;
      results.push(parts.map((part) => ("text" in part ? part.text : "")).join("\n"));
    }
    const next = script[results.length]?.(results);
    return next
      ? { tools: [{ name: `mcp__uncaged__${next[0]}`, input: next[1] }] }
      : { text: "done" };
  });
  try {
    const config = join(serving.folder, "mcp.json");
    writeFileSync(config, JSON.stringify({ mcpServers: { uncaged: server } }));
    const home = join(serving.folder, "claude-home");
    mkdirSync(home, { recursive: true });
    const words = ["-p", "Ship it", "--mcp-config", config, "--strict-mcp-config"];
    await output([claude, ...words, "--allowedTools", "mcp__uncaged"], {
      ...{ PATH: process.env.PATH, HOME: home, ENABLE_TOOL_SEARCH: "false" },
      ...{ ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", CLAUDE_CODE_MAX_RETRIES: "0" },
    });
    return results;
  } finally {
    await model.stop();
  }
}

const read = (result = "") => JSON.parse(result) as Record<string, unknown> & { threadId: string };
const idIn = (results: string[], at: number) => read(results[at]).threadId;

describe.each(["mcp", "/mcp"] as const)("Claude Code on %s", (transport) => {
  test(
    "starts, watches, answers and forks threads, finds a failure's line, and can't approve",
    async () => {
      const file = join(serving.folder, "ship.ts");
      writeFileSync(file, source);
      const correct = (): [string, object] => {
        writeFileSync(file, source.replace('"v2"', '"v3"'));
        return ["add_workflow", { name: "ship", file }];
      };
      const results = await claudeCalls(transports[transport](), [
        () => ["add_workflow", { name: "ship", file }],
        () => ["start_thread", { workflow: "ship", prompt: "v1", wait: 60 }],
        (all) => ["answer_thread", { threadId: idIn(all, 1), answer: "beta", wait: 60 }],
        (all) => ["answer_thread", { threadId: idIn(all, 1), answer: "approve", question: 4 }],
        (all) => ["fork_thread", { threadId: idIn(all, 1), atStep: 3, prompt: "v2", wait: 60 }],
        (all) => ["get_thread", { threadId: idIn(all, 4) }],
        correct,
        (all) => ["retry_thread", { threadId: idIn(all, 4), on: "ship", wait: 60 }],
        (all) => ["get_thread", { threadId: idIn(all, 7), cursor: "steps:1" }],
        () => ["search_docs", { query: "approval" }],
      ]);
      const [, started, answered, approved, , failed, , retried, steps, docs] = results;
      expect(read(started)).toMatchObject({ status: "waiting", question: { for: "channel" } });
      expect(read(answered)).toMatchObject({ status: "waiting", question: { needsPerson: true } });
      expect(approved).toStartWith("APPROVAL_NOT_ALLOWED: ");
      expect(read(failed)).toMatchObject({
        status: "failed",
        failure: { message: "no such channel", at: "ship.ts:6:15" },
      });
      expect(failed).toContain('> 6 |     throw new Error(\\"no such channel\\");');
      expect(read(retried)).toMatchObject({ status: "waiting", steps: 4 });
      const by = "mcp claude-code";
      expect(read(steps)).toMatchObject({
        records: [{ role: "build" }, { role: "__wait__" }, { content: "beta", by }, {}],
      });
      expect(read(docs).results).not.toEqual([]);
    },
    timeoutMs,
  );
});

test(
  "Claude Code approves with --allow-approve",
  async () => {
    writeFileSync(join(serving.folder, "ship.ts"), source);
    const results = await claudeCalls(transports.mcp("--allow-approve"), [
      () => ["add_workflow", { name: "ship", file: "ship.ts" }],
      () => ["start_thread", { workflow: "ship", prompt: "v1", wait: 60 }],
      (all) => ["answer_thread", { threadId: idIn(all, 1), answer: "beta", wait: 60 }],
      (all) => ["answer_thread", { threadId: idIn(all, 1), answer: "yes", question: 4, wait: 60 }],
    ]);
    expect(read(results[3])).toMatchObject({
      status: "completed",
      result: { summary: "shipped v1" },
    });
  },
  timeoutMs,
);

describe("the MCP Inspector's command line", () => {
  const inspect = async (target: string[], ...words: string[]) => {
    const env = { ...process.env, ...serving.env, HOME: process.env.HOME };
    const npx = ["npx", "--yes", inspector, "--cli", ...target];
    return JSON.parse(await output([...npx, ...words], env)) as Record<string, unknown>;
  };
  const targets = {
    mcp: () => [command, "mcp"],
    "/mcp": () => {
      const { url, headers } = transports["/mcp"]();
      return [url, "--transport", "http", "--header", `Authorization: ${headers.Authorization}`];
    },
  };

  test.each(["mcp", "/mcp"] as const)(
    "lists the tools of %s and calls one",
    async (transport) => {
      const target = targets[transport]();
      const { tools } = (await inspect(target, "--method", "tools/list")) as { tools: object[] };
      expect(tools).toHaveLength(13);
      const words = [
        "--method",
        "tools/call",
        "--tool-name",
        "search_docs",
        "--tool-arg",
        "query=retry",
      ];
      expect(await inspect(target, ...words)).toMatchObject({
        structuredContent: { results: [{}, {}, {}, {}, {}] },
      });
    },
    timeoutMs,
  );
});
