import { afterEach, expect, test } from "bun:test";
import { z } from "zod";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { allModels, type Model, threadAt } from "./models.ts";
import { observed } from "./published.ts";
import { key } from "./stream-property.ts";

/* Tests answers with events or types that the protocol does not define. */
let server: ReturnType<typeof Bun.serve> | null = null;
afterEach(() => server?.stop(true));

const chunk = (choice: object) => ({ choices: [{ index: 0, ...choice }] });
const item = (name: string, fields: object) => ({
  type: `response.${name}`,
  ...{ output_index: 0, item_id: "i", ...fields },
});
const added = (fields: object) =>
  item("output_item.added", { item: { id: "i", call_id: "c", name: "look", ...fields } });
const completed = { type: "response.completed", response: { status: "completed", output: [] } };
const spoken = [{ type: "output_text", text: "hi" }];
const json = '{"n":1}';
const look = { id: "a", function: { name: "look", arguments: json } };

const whole: Record<string, object> = {
  openai: chunk({ message: { content: "hi" }, finish_reason: "stop" }),
  anthropic: { type: "message", content: "hi", stop_reason: "end_turn" },
  responses: { ...completed.response, output: [{ type: "message", content: spoken }] },
};

test.each<[string, string, object[], unknown[]]>([
  [
    "openai",
    "an object instead of a list of calls",
    [chunk({ delta: { tool_calls: look }, finish_reason: "tool_calls" })],
    [{ n: 1 }],
  ],
  ["anthropic", "a string instead of a list of content blocks", [whole.anthropic ?? {}], []],
  [
    "responses",
    "text only in its last event",
    [added({ type: "message" }), item("output_text.done", { text: "hi" }), completed],
    [],
  ],
  [
    "responses",
    "text in its first event",
    [added({ type: "message", content: spoken }), completed],
    [],
  ],
  [
    "responses",
    "arguments only in their last event",
    [
      added({ type: "function_call", arguments: "" }),
      item("function_call_arguments.done", { arguments: json }),
      completed,
    ],
    [{ n: 1 }],
  ],
  [
    "responses",
    "arguments in their first event",
    [added({ type: "function_call", arguments: json }), completed],
    [{ n: 1 }],
  ],
])("an answer in the %s protocol may have %s", async (name, _, events, inputs) => {
  const model = allModels.find((one) => one.name === name) as Model;
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  let asked = 0;
  const headers = { "content-type": "text/event-stream" };
  server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: () => (asked++ ? Response.json(whole[name]) : new Response(text, { headers })),
  });
  const given: unknown[] = [];
  const execute = (input: unknown) => void given.push(input);
  const tools = toolRegistry([
    tool({ name: "look", description: "", input: z.looseObject({}), execute }),
  ]);
  const agent = model.agent({ maxRetries: 0, tools });
  const at = threadAt(model, { url: `http://127.0.0.1:${server.port}`, key });
  const run = await observed(() => agent(at, "You look"));
  expect([run.error, run.text, given]).toEqual([null, "hi", inputs]);
});
