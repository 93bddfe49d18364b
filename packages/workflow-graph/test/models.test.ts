import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  mcpTools,
  type ModelProvider,
  type ModelScript,
  scriptedProvider,
  type Tool,
  tool,
  toolRegistry,
} from "@uncaged/workflow-agents";
import { z } from "zod";
import { openaiServer } from "../../workflow-agents/test/openai-server.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { isAlive } from "../../workflow-agents/test/processes.ts";
import { anthropicModels, modelAgents, openaiModels } from "../src/entry/agents.ts";
import { agent, drawn, published, start, texts } from "./drawn.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const both = modelAgents({ models: [anthropicModels(), openaiModels()] });
const asked = (data: Record<string, unknown>, env: Record<string, string> = {}, agents = both) =>
  published(() => drawn([start("s"), agent("a", data)], "s -> a", { agents, env }));
const scripted = (script: ModelScript) => [
  { name: "script", provider: scriptedProvider(script), serves: () => true },
];

describe("an agent's model", () => {
  test.each([
    ["gpt-5", "OPENAI_API_KEY"],
    ["claude-opus-5-5", "ANTHROPIC_API_KEY"],
    ["anthropic/some-model", "ANTHROPIC_API_KEY"],
  ])("without a key fails with the variable's name: %s", async (model, variable) => {
    const message = `No LLM service configured. Set ${variable} in the environment.`;
    const { log, result } = await asked({ model });
    expect(result).toMatchObject({ status: "failed", message });
    expect(log.slice(2)).toEqual(["a start_prompt: in", `a llm_error: ${message}`]);
  });

  test("is called with its provider's key, model and effort", async () => {
    const server = await openaiServer([{ text: "salt" }]);
    ends.push(server.stop);
    const env = { OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url };
    const { result } = await asked({ model: "openai/gpt-6", reasoningEffort: "high" }, env);
    expect(texts(result).at(-1)).toBe("a: salt");
    expect(server.came[0]?.body).toMatchObject({ model: "gpt-6", reasoning_effort: "high" });
    expect(result.steps.at(-1)?.meta).toMatchObject({ usage: { output_tokens: 2 } });
  });
});

describe("an agent's tools", () => {
  const program = join(import.meta.dir, "../../workflow-agents/test/mcp/server.ts");

  test("include an MCP server's tools, by the names that its node enables", async () => {
    const folder = mkdtempSync(join(tmpdir(), "uncaged-graph-mcp-"));
    const kill = new AbortController();
    ends.push(() => rmSync(folder, { recursive: true, force: true }));
    const args = [program, "stdio", join(folder, "pids")];
    const sums = mcpTools({ name: "sums", command: process.execPath, args });
    const offered: string[][] = [];
    const models = scripted({
      helpful: [
        ({ tools }) => {
          offered.push(tools.map(({ name }) => name));
          return [{ tool: "sums__add", input: { a: 20, b: 22 } }];
        },
        ({ messages }) => JSON.stringify(messages.at(-1)?.content),
      ],
    });
    const agents = modelAgents({ models, tools: toolRegistry([sums]) });
    const nodes = (tools: Record<string, boolean>) => [start("s"), agent("a", { tools })];
    const options = { agents, signal: kill.signal, env: { PATH: process.env.PATH ?? "" } };
    const tools = { sums__add: true, sums__fail: false };
    const outcome = await drawn(nodes(tools), "s -> a", options);
    expect(outcome.steps.at(-1)?.content).toContain("42");
    expect(offered).toEqual([["sums__add"]]);
    const unknown = await drawn(nodes({ sums__take: true }), "s -> a", options);
    expect(unknown).toMatchObject({
      status: "failed",
      message: expect.stringContaining("unknown tool sums__take; tools: sums__add, "),
    });
    // The servers end with the thread.
    kill.abort();
    const pids = readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number);
    await until(() => !pids.some(isAlive));
  });

  test("that were not provided are reported as missing", async () => {
    const agents = modelAgents({ models: scripted({ helpful: ["never asked"] }) });
    const { result } = await asked({ tools: { readFile: true } }, {}, agents);
    expect(result).toMatchObject({
      status: "failed",
      message: "no tool readFile found: the graph's agents have no tools",
    });
  });
});

describe("the calls of a subagent", () => {
  const lead = { tools: { subagents: true }, systemPrompt: "You lead" };
  const played = (provider: ModelProvider, tools: Tool[] = []) => {
    const on = Object.fromEntries(tools.map(({ name }) => [name, true]));
    const help = agent("b", { systemPrompt: "You help", tools: on });
    const models = [{ name: "script", provider, serves: () => true }];
    const agents = modelAgents({ models, tools: toolRegistry(tools) });
    const team = [start("s"), agent("a", lead), help];
    return published(() => drawn(team, "s -> a; a -subagent-> b", { agents }));
  };

  test("without ids get ids from their tool and number", async () => {
    const provider = scriptedProvider({
      "You lead": [
        [
          { tool: "agent_b", input: { message: "one" } },
          { tool: "agent_b", input: { message: "two" } },
        ],
        "done",
      ],
      "You help": ["help"],
    });
    // Simulates a provider that sends no ids.
    const answer: ModelProvider["answer"] = async (...given) => {
      const { toolUses, ...answered } = await provider.answer(...given);
      return { ...answered, toolUses: toolUses.map((use) => ({ ...use, id: "" })) };
    };
    const { log } = await played({ ...provider, answer });
    const ids = (type: string) =>
      log
        .filter((line) => line.startsWith(`a ${type}: `))
        .map((line) => (JSON.parse(line.slice(line.indexOf("{"))) as { callId: string }).callId);
    expect(ids("subagent_call_start")).toEqual(["subagent_agent_b_1", "subagent_agent_b_2"]);
    expect(ids("subagent_call_end").sort()).toEqual(ids("subagent_call_start"));
  });

  test("end after 20 turns, with the reason as the caller's result", async () => {
    let runs = 0;
    const again = tool({
      name: "again",
      description: "Never enough.",
      input: z.object({}),
      execute: async () => `${(runs += 1)}`,
    });
    const script: ModelScript = {
      "You lead": [
        [{ tool: "agent_b", input: { message: "go" } }],
        ({ messages }) => JSON.stringify(messages.at(-1)?.content),
      ],
      "You help": Array.from({ length: 30 }, () => [{ tool: "again", input: {} }]),
    };
    const { result } = await played(scriptedProvider(script), [again]);
    expect(runs).toBe(20);
    expect(texts(result).at(-1)).toContain("did not finish within 20 turns");
  });
});
