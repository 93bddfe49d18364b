import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditRecord } from "../src/guard/audit.ts";
import { type Role, roles } from "../src/guard/role.ts";
import { closeClients, McpClient } from "./mcp-client.ts";
import { ServingRoot, stopServing } from "./serving.ts";

/* The tools of `/mcp` for the tokens of a token file. */
const tokenOf = (role: Role) => `${role}-0123456789-abcdefghij`;
const reading = [
  ...["diff_threads", "get_thread", "list_workflows", "search_docs", "search_threads"],
  "thread_cost",
];

const serving = new ServingRoot();

beforeAll(async () => {
  const lines = roles.map((role) => `the-${role} ${role} ${tokenOf(role)}\n`);
  const tokenFile = serving.write("tokens", lines.join(""));
  chmodSync(tokenFile, 0o600);
  serving.options = { tokenFile };
  await serving.begin("asker");
});
afterAll(async () => {
  await closeClients();
  await stopServing();
});

async function waiting(): Promise<string> {
  const id = await serving.run("asker", { wait: { schema: { type: "string" } } });
  await serving.until(id, "waiting");
  return id;
}

describe.each([true, false])("a client (modern: %p)", (modern) => {
  const connect = (role: Role) =>
    McpClient.connect(serving, { modern, name: "a model", token: tokenOf(role) });

  test("with the role read gets the tools that change nothing", async () => {
    const client = await connect("read");
    expect((await client.tools()).map(({ name }) => name).sort()).toEqual(reading);
    const threadId = await waiting();
    expect(await client.ok("get_thread", { threadId })).toMatchObject({ status: "waiting" });
    const called = client.client.callTool({ name: "answer_thread", arguments: { threadId } });
    expect(await called.then(() => "called", String)).toContain("answer_thread");
    expect((await serving.until(threadId, "waiting")).stepCount).toBe(1);
  });

  test("with the role answer can also answer, and its answer has the name of its token", async () => {
    const client = await connect("answer");
    const names = (await client.tools()).map(({ name }) => name).sort();
    expect(names).toEqual([...reading, "answer_thread"].sort());
    const threadId = await waiting();
    const done = await client.ok("answer_thread", { threadId, answer: "blue", wait: 60 });
    expect(done.status).toBe("completed");
    const { steps } = await serving.until(threadId, "completed");
    const answer = steps.find(({ role }) => role === "__input__");
    expect(answer?.meta.by).toEqual({ kind: "mcp", name: "the-answer" });
  });

  test("with the role operate gets all tools", async () => {
    const client = await connect("operate");
    expect((await client.tools()).map(({ name }) => name)).toContain("add_workflow");
    const started = await client.ok("start_thread", { workflow: "asker", wait: 60 });
    expect(started.status).toBe("waiting");
  });
});

test("a session of an operator gives a reader no tools", async () => {
  const send = (token: string, body: object, session?: string) =>
    serving.fetch("/mcp", {
      method: "POST",
      headers: {
        Authorization: `Bearer ${token}`,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        ...(session !== undefined && { "Mcp-Session-Id": session }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
    });
  const params = {
    ...{ protocolVersion: "2025-06-18", capabilities: {} },
    clientInfo: { name: "x", version: "1" },
  };
  const opened = await send(tokenOf("operate"), { method: "initialize", params });
  await opened.text();
  const session = opened.headers.get("mcp-session-id") ?? "";
  expect(session).not.toBe("");
  const list = { method: "tools/list", params: {} };
  const listed = async (role: Role) => (await send(tokenOf(role), list, session)).text();
  expect(await listed("operate")).toContain("start_thread");
  expect(await listed("read")).not.toContain("start_thread");
});

test("the audit log has the calls of clients that can change something", () => {
  const records = readFileSync(join(serving.path, "audit.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditRecord)
    .filter(({ what }) => what === "POST /mcp");
  expect(new Set(records.map(({ who }) => who))).toEqual(new Set(["the-answer", "the-operate"]));
});
