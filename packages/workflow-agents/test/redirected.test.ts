import { afterEach, describe, expect, test } from "bun:test";
import { mcpTools } from "../src/mcp/mcp.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { allModels, threadAt } from "./models.ts";
import { origin, redirect } from "./origins.ts";
import { failureOf, observed } from "./published.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const key = "sk-0123456789";
/** Starts a server that redirects to a path of another origin. */
function moved(status: number) {
  const other = origin();
  const own = origin(() => redirect(status, `${other.url}/secret-path`));
  stops.push(own.stop, other.stop);
  return { own, other };
}

const statuses = [301, 302, 303, 307, 308];

describe.each(allModels)("the $name agent", (model) => {
  test.each(statuses)(
    "does not send the key and the prompt to another origin after a %i",
    async (status) => {
      const { other, own } = moved(status);
      const thread = threadAt(model, { url: own.url, key });
      const { error } = await observed(() => model.agent()(thread, "You code"));
      expect(other.came).toEqual([]);
      // A retry would be redirected again.
      expect(own.came).toHaveLength(1);
      const { message } = error as Error;
      expect(message).toContain(`${own.url} redirects to ${other.url}`);
      expect(message).not.toContain("secret-path");
      const code = { code: "LLM_REDIRECTED", type: "connection_error" };
      expect(error).toMatchObject({ ...code, retryable: false, isFree: true });
    },
  );
});

test.each(statuses)(
  "an MCP client does not send its headers to another origin after a %i",
  async (status) => {
    const { other, own } = moved(status);
    const abort = new AbortController();
    stops.push(() => abort.abort());
    const headers = { Authorization: `Bearer ${key}`, "X-Api-Key": key };
    const tools = toolRegistry([mcpTools({ name: "sums", url: `${own.url}/mcp`, headers })]);
    const error = await failureOf(tools.definitions({ signal: abort.signal, cwd: "/", env: {} }));
    expect(error).toMatchObject({ code: "MCP_UNREACHABLE" });
    expect(own.came[0]?.headers).toMatchObject({ "x-api-key": key });
    expect(other.came).toEqual([]);
  },
);
