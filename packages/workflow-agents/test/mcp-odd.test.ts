import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { mcpTools } from "../src/mcp/mcp.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import type { ToolContext } from "../src/tools/tools.ts";
import { observed } from "./published.ts";

setDefaultTimeout(180_000);
let abort: AbortController;
beforeEach(() => {
  abort = new AbortController();
});
afterEach(() => abort.abort());

const context = (): ToolContext => ({
  signal: abort.signal,
  cwd: "/",
  env: { PATH: process.env.PATH ?? "" },
});

describe("a client of an MCP server by stdio", () => {
  test.each([
    "an unknown field",
    "both a result and a null error",
    "an id as text",
    "no id",
    "no version",
    "several lines",
    "a log line before it",
    "logs in JSON",
    "a byte order mark",
    "null for its other fields",
    "a text in place of a list",
    "content of an unknown type",
    "structured content that is a list",
    "the form of an older protocol",
    "12 MB",
  ])("understands an answer with %s", async (mode) => {
    const args = [join(import.meta.dir, "mcp/odd.ts"), mode];
    const source = mcpTools({ name: "m", command: process.execPath, args });
    const registry = toolRegistry([source], { timeoutMs: 60_000 });
    const names = (await registry.definitions(context())).map(({ name }) => name);
    expect(names).toEqual(["m__now"]);
    for (const _ of [1, 2]) {
      const { content, is_error } = await registry.run("m__now", {}, context());
      expect(content).toContain("noon");
      expect(is_error).toBe(false);
    }
  });

  test("keeps the digits of structured content without text", async () => {
    const args = [join(import.meta.dir, "mcp/odd.ts"), "long digits"];
    const registry = toolRegistry([mcpTools({ name: "m", command: process.execPath, args })]);
    const { content, is_error } = await registry.run("m__now", {}, context());
    expect([content, is_error]).toEqual(['{"noon":12345678901234567890}', false]);
  });

  test("leaves out unusable tools, and reports that", async () => {
    const args = [join(import.meta.dir, "mcp/odd.ts"), "no id"];
    const registry = toolRegistry([mcpTools({ name: "m", command: process.execPath, args })]);
    const { events } = await observed(async () => {
      await registry.definitions(context());
      return "";
    });
    const said = events.map(({ payload }) => payload.message);
    expect(said).toContain("the server tool 1 of its list is left out: its name is a number");
  });
});

test("an MCP server may name tools like inherited properties, and unknown tools are refused", async () => {
  const names = ["constructor", "prototype", "toString", "hasOwnProperty", "__proto__"];
  const properties = JSON.parse(
    '{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}}',
  );
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      if (request.method !== "POST") return new Response("", { status: 405 });
      const text = await request.text();
      const { id, method, params } = JSON.parse(text) as {
        id?: number;
        method: string;
        params: { name: string };
      };
      if (id === undefined) return new Response(null, { status: 202 });
      const inputSchema = { type: "object", properties };
      const said = {
        type: "text",
        text: `${params?.name} ${/"arguments":(\{[^}]*\})/.exec(text)?.[1]}`,
      };
      const results: Record<string, object> = {
        initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} } },
        "tools/list": { tools: names.map((name) => ({ name, inputSchema })) },
        "tools/call": { content: [said] },
      };
      const result = results[method];
      const error = { code: -32601, message: "not known" };
      return Response.json({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) });
    },
  });
  const source = mcpTools({ name: "m", url: `http://127.0.0.1:${server.port}/mcp` });
  const registry = toolRegistry([source]);
  const definitions = await registry.definitions(context());
  expect(definitions.map(({ name }) => name)).toEqual(names.map((name) => `m__${name}`));
  const input = JSON.parse('{"__proto__":1,"constructor":2}') as object;
  for (const name of names) {
    const { content, is_error } = await registry.run(`m__${name}`, input, context());
    expect([content, is_error]).toEqual([`${name} {"__proto__":1,"constructor":2}`, false]);
  }
  for (const name of names) {
    const { content, is_error } = await registry.run(name, {}, context());
    expect([is_error, content]).toEqual([true, expect.stringContaining(`unknown tool "${name}"`)]);
  }
  await server.stop(true);
});

describe("a client of an MCP server by HTTP", () => {
  type Reply = (session: string | null, method: string) => Response | null;
  const serverOf = (reply: Reply, session = () => "first") => {
    const calls: string[] = [];
    const server = Bun.serve({
      ...{ hostname: "127.0.0.1", port: 0 },
      async fetch(request) {
        if (request.method !== "POST") return new Response("", { status: 405 });
        const { id, method } = (await request.json()) as { id?: number; method: string };
        const json = (body: object, headers = {}) =>
          Response.json({ jsonrpc: "2.0", id, ...body }, { headers });
        calls.push(method);
        if (method === "server/discover") return json({ error: { code: -32601, message: "no" } });
        if (method === "initialize") {
          const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} } };
          return json({ result }, { "mcp-session-id": session() });
        }
        const other = reply(request.headers.get("mcp-session-id"), method);
        if (other) return other;
        if (id === undefined) return new Response(null, { status: 202 });
        const content = [{ type: "text", text: "noon" }];
        return json({
          result: method === "tools/list" ? { tools: [{ name: "now" }] } : { content },
        });
      },
    });
    const source = mcpTools({ name: "m", url: `http://127.0.0.1:${server.port}/mcp` });
    const registry = toolRegistry([source]);
    const call = () => registry.run("m__now", {}, context());
    return { calls, call, stop: () => server.stop(true) };
  };

  test.each([404, 400])(
    "opens a new session after a response with %d to a lost session",
    async (status) => {
      let current = "first";
      const gone = () => new Response("Bad Request: no valid session", { status });
      const reply: Reply = (session) => (session === current ? null : gone());
      const { call, calls, stop } = serverOf(reply, () => current);
      expect(await call()).toEqual({ content: "noon", is_error: false });
      current = "after a restart";
      expect(await call()).toEqual({ content: "noon", is_error: false });
      expect(calls.filter((method) => method === "initialize")).toHaveLength(2);
      await stop();
    },
  );

  test("retries a request after the delay that a busy server sets", async () => {
    let busy = 2;
    const reply: Reply = (_, method) =>
      method === "tools/call" && busy-- > 0
        ? new Response("slow down", { status: 429, headers: { "retry-after": "0" } })
        : null;
    const { call, stop } = serverOf(reply);
    expect(await call()).toEqual({ content: "noon", is_error: false });
    await stop();
  });

  test.each([
    [429, "the server did not run it"],
    [502, "the server may have run it"],
  ])("reports a response with %d, and keeps its session", async (status, hint) => {
    let isWell = false;
    const headers = { "retry-after": "0" };
    const reply: Reply = (_, method) =>
      method === "tools/call" && !isWell ? new Response("proxy", { status, headers }) : null;
    const { call, calls, stop } = serverOf(reply);
    const { content, is_error } = await call();
    expect(is_error).toBe(true);
    expect(content).toContain(`the MCP server m answered ${status} while its tool now ran: `);
    expect(content).toContain(hint);
    isWell = true;
    expect((await call()).content).toBe("noon");
    expect(calls.filter((method) => method === "initialize")).toHaveLength(1);
    await stop();
  });

  test("fails a call at once when the stream ends before the answer", async () => {
    const headers = { "content-type": "text/event-stream" };
    const reply: Reply = (_, method) =>
      method === "tools/call" ? new Response(": nothing\n\n", { headers }) : null;
    const { call, stop } = serverOf(reply);
    const { content } = await call();
    expect(content).toContain(
      "the MCP server m did not answer while its tool now ran: the connection ended before its answer",
    );
    await stop();
  });

  test("understands JSON that is sent as text, and reports an empty body", async () => {
    let body = '{"id": 99, "result": {"content": [{"type": "text", "text": "noon"}]}}';
    const reply: Reply = (_, method) =>
      method === "tools/call"
        ? new Response(body, { headers: { "content-type": "text/plain" } })
        : null;
    const { call, stop } = serverOf(reply);
    expect((await call()).content).toBe("noon");
    body = `\ufeff{"result": {"structuredContent": {"at": 12345678901234567890}}}`;
    expect((await call()).content).toBe('{"at":12345678901234567890}');
    body = "";
    expect(await call()).toEqual({ content: "its answer is empty", is_error: true });
    await stop();
  });
});
