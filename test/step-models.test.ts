import { afterAll, expect, onTestFinished, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "../packages/cli-workflow/test/program.ts";
import { anthropicServer } from "../packages/workflow-agents/test/anthropic-server.ts";

/* A step workflow by the command line, with a model behind the real client and a tool on real files. */
afterAll(removeFolders);

const flow = {
  version: "3.17",
  name: "summarize",
  registry: {
    params: ["prompt(STRING)"],
    vars: ["$text(STRING)", "$topics(OBJECT)", "$tone(STRING)"],
    schemas: {
      topics: {
        type: "object",
        properties: { topics: { type: "array", items: { type: "string" } } },
        required: ["topics"],
      },
    },
  },
  steps: [
    { id: "Tool_ReadFile", in: { file_path: "=prompt" }, out: "$text", next: "Fork_Ask" },
    { id: "Fork_Ask", children: ["LLM_Topics", "LLM_Tone"], next: "Stop_Done" },
    {
      id: "LLM_Topics",
      model: "claude-opus-4-6",
      in: {
        prompt: "='Topics of: ' + $text",
        output_config: { type: "json_schema", schemaRef: "topics" },
      },
      out: "$topics",
      next: "RETURN",
    },
    {
      id: "LLM_Tone",
      model: "claude-opus-4-6",
      in: { prompt: "='Tone of: ' + $text", stream: true },
      out: "$tone",
      next: "RETURN",
    },
    { id: "Stop_Done", reason: "summarized" },
  ],
};

test("a step workflow asks a model, and its thread reports its spending and can be run again", async () => {
  const server = await anthropicServer(({ messages }) =>
    JSON.stringify(messages).includes("Topics of")
      ? { text: '```json\n{"topics":["tea"]}\n```' }
      : { text: "dry" },
  );
  onTestFinished(() => server.stop());
  const store = new Store();
  const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  writeFileSync(join(store.folder, "notes.txt"), "Tea is a drink.");
  writeFileSync(join(store.folder, "flow.json"), JSON.stringify(flow));
  await store.ok(["add", "summarize", "flow.json"]);
  const shown = await store.ok(["run", "summarize", "--prompt", "notes.txt", "--follow"], { env });
  expect(shown).toMatch(/LLM_Topics .* tokens, \$0\.\d+ {2}\$topics set/);
  const { variables } = await store.json<{ variables: object }>([
    "thread",
    "@last",
    "--checkpoint",
  ]);
  expect(variables).toEqual({
    $text: "Tea is a drink.",
    $topics: { topics: ["tea"] },
    $tone: "dry",
  });
  const ledger = await store.json<{ total: { tokens: number }; roles: object }>([
    ...["thread", "@last", "--ledger"],
  ]);
  expect(Object.keys(ledger.roles).toSorted()).toEqual(["LLM_Tone", "LLM_Topics"]);
  // Which of the two is committed first is open: what comes behind the one that is run again is run again too.
  const { steps } = await store.json<{ steps: { role: string }[] }>(["thread", "@last"]);
  const asks = steps.map(({ role }) => role).filter((role) => role.startsWith("LLM_"));
  const asked = server.came.length;
  const run = ["rerun", "@last", "--from-step", "LLM_Tone", "--set", "$text=Coffee", "--wait"];
  await store.ok(run, { env });
  expect(server.came.length - asked).toBe(asks.length - asks.indexOf("LLM_Tone"));
  const again = await store.json<{ variables: object }>(["thread", "@last", "--checkpoint"]);
  expect(again.variables).toMatchObject({ $text: "Coffee", $topics: { topics: ["tea"] } });
}, 180_000);
