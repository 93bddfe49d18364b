// An MCP server that sends requests outside of its client's capabilities. Uses plain JSON-RPC, because the SDK refuses
// such requests.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

type Message = { id?: number; method?: string; params?: { name?: string }; error?: unknown };

const [, , log] = process.argv;
if (log) appendFileSync(log, `${process.pid}\n`);
const send = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const answers: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "rude", version: "1.0.0" },
  },
  "tools/list": {
    tools: ["ask", "die"].map((name) => ({ name, inputSchema: { type: "object" } })),
  },
};

let asking: number | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, error } = JSON.parse(line) as Message;
  if (method === undefined) {
    const text = JSON.stringify(error);
    send({ id: asking, result: { content: [{ type: "text", text }] } });
  } else if (method === "tools/call") {
    if (params?.name === "die") process.exit(1);
    asking = id;
    const message = { role: "user", content: { type: "text", text: "say yes" } };
    send({
      id: 900,
      method: "sampling/createMessage",
      params: { messages: [message], maxTokens: 9 },
    });
  } else if (id !== undefined) {
    const result = answers[method];
    send(result ? { id, result } : { id, error: { code: -32601, message: "not known" } });
  }
}
