import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { mcpTools } from "../src/mcp/mcp.ts";
import type { McpOptions } from "../src/mcp/options.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { answered } from "./mcp/digits.ts";
import { allModels, threadAt } from "./models.ts";
import { observed } from "./published.ts";

/* Tests that integers beyond 2^53 keep their digits from the model to a tool's server and back. */

setDefaultTimeout(180_000);
let server: ReturnType<typeof Bun.serve> | null = null;
afterEach(() => server?.stop(true));

/** Starts an MCP server by HTTP that reads and writes numbers as text. */
function byHttp({ isStream }: { isStream: boolean }): McpOptions {
  server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      if (request.method !== "POST") return new Response("", { status: 405 });
      const answer = answered(await request.text());
      if (answer === null) return new Response(null, { status: 202 });
      return isStream
        ? new Response(`data: ${answer}\n\n`, { headers: { "content-type": "text/event-stream" } })
        : new Response(answer, { headers: { "content-type": "application/json" } });
    },
  });
  return { name: "m", url: `http://127.0.0.1:${server.port}/mcp` };
}

const program = join(import.meta.dir, "mcp/digits.ts");
const servers: [string, () => McpOptions][] = [
  ["stdio", () => ({ name: "m", command: process.execPath, args: [program] })],
  ["HTTP", () => byHttp({ isStream: false })],
  ["a stream", () => byHttp({ isStream: true })],
];

test.each(servers.flatMap(([way, options]) => allModels.map((model) => ({ way, options, model }))))(
  "a server by $way gets and returns the digits of an integer from $model.name",
  async ({ options, model }) => {
    const json = '{"$id": 9007199254740993, "deep": [{"n": -12345678901234567890}], "plain": 7}';
    const at = await model.serve([{ tools: [{ name: "m__look", json }] }, { text: "done" }]);
    const tools = toolRegistry([mcpTools(options())]);
    const abort = new AbortController();
    const { env, ...thread } = threadAt(model, at, { cwd: "/", signal: abort.signal });
    const surroundings = { ...thread, env: { ...env, PATH: process.env.PATH ?? "" } };
    const { error, events } = await observed(() =>
      model.agent({ tools })(surroundings, "You look."),
    );
    abort.abort();
    await at.stop();
    expect(error).toBeNull();
    const [result] = events.filter(({ type }) => type === "llm_tool_result");
    const content = String(result?.payload.content);
    const { got } = JSON.parse(content) as Record<string, string>;
    expect(got).toBe('{"$id":9007199254740993,"deep":[{"n":-12345678901234567890}],"plain":7}');
    expect(content).toContain('"id":9007199254740995');
  },
);
