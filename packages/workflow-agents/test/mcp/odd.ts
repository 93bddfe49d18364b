// An MCP server by stdio, in plain JSON-RPC, for `mcp-odd.test.ts`. Run it as `odd.ts MODE`. The mode selects its
// answers.
import { createInterface } from "node:readline";

type Message = { id?: number; method?: string };
type Answer = Record<string, unknown>;

const [, , mode = ""] = process.argv;
const tool = { name: "now", inputSchema: { type: "object", properties: {} } };
const noon = { type: "text", text: "noon" };
const plain = (id: unknown, result: unknown): Answer => ({ jsonrpc: "2.0", id, result });
const answers: Record<string, (id: number) => string[]> = {
  "an unknown field": (id) => [JSON.stringify({ ...plain(id, { content: [noon] }), took: 3 })],
  "both a result and a null error": (id) => [
    JSON.stringify({ ...plain(id, { content: [noon] }), error: null }),
  ],
  "an id as text": (id) => [JSON.stringify(plain(String(id), { content: [noon] }))],
  "no id": () => [JSON.stringify(plain(null, { content: [noon] }))],
  "no version": (id) => [JSON.stringify({ id, result: { content: [noon] } })],
  "several lines": (id) => JSON.stringify(plain(id, { content: [noon] }), null, 2).split("\n"),
  "a log line before it": (id) => [
    "starting {now}",
    "{not json",
    JSON.stringify(plain(id, { content: [noon] })),
  ],
  "logs in JSON": (id) => [
    JSON.stringify({ level: "info", id, msg: "asked" }),
    JSON.stringify({ level: "warn", error: "slow", result: "ok" }),
    JSON.stringify({ a: 1 }, null, 2),
    JSON.stringify(plain(id, { content: [noon] })),
  ],
  "a byte order mark": (id) => [`\ufeff${JSON.stringify(plain(id, { content: [noon] }))}`],
  "long digits": (id) => [
    `{"id": ${id}, "result": {"structuredContent": {"noon": 12345678901234567890}}}`,
  ],
  "null for its other fields": (id) => [
    JSON.stringify(
      plain(id, {
        content: [{ ...noon, annotations: null, _meta: null }],
        isError: null,
        _meta: null,
      }),
    ),
  ],
  "a text in place of a list": (id) => [JSON.stringify(plain(id, { content: "noon" }))],
  "content of an unknown type": (id) => [
    JSON.stringify(plain(id, { content: [{ type: "table", rows: [] }, noon] })),
  ],
  "structured content that is a list": (id) => [
    JSON.stringify(plain(id, { content: [], structuredContent: ["noon"] })),
  ],
  "the form of an older protocol": (id) => [JSON.stringify(plain(id, { toolResult: "noon" }))],
  "12 MB": (id) => [
    JSON.stringify(
      plain(id, { content: [noon, { type: "text", text: "y".repeat(12 * 2 ** 20) }] }),
    ),
  ],
};

let page = 0;
const send = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line) as Message;
  if (id === undefined) continue;
  if (method === "initialize") {
    const capabilities = { tools: null, resources: null, experimental: null };
    send(plain(id, { protocolVersion: "2025-06-18", capabilities, serverInfo: null }));
  } else if (method === "tools/list") {
    const bad = [{ name: 7 }, null, "tool", { ...tool, name: "" }];
    const nulls = { description: null, outputSchema: null, annotations: null, title: null };
    const inputSchema = { type: "object", properties: null, required: null };
    // The cursors alternate, so the list has no last page.
    const nextCursor = "ab"[(page += 1) % 2];
    const own = mode === "logs in JSON" ? { tools: [tool], nextCursor } : null;
    const tools = [...bad, { ...tool, inputSchema, ...nulls }, tool];
    send(plain(id, own ?? { tools, nextCursor: null }));
  } else if (method === "tools/call") {
    for (const text of answers[mode]?.(id) ?? []) process.stdout.write(`${text}\n`);
  } else send({ jsonrpc: "2.0", id, error: { code: -32601, message: "not known" } });
}
