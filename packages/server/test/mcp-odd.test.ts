import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { closeClients, handlerOf, McpClient } from "./mcp-client.ts";
import { Serving, ServingRoot, stopServing } from "./serving.ts";

afterAll(async () => {
  await closeClients();
  await stopServing();
});

const accept = "application/json, text/event-stream";

describe("/mcp", () => {
  test("checks the token, the Host and the Origin like the API", async () => {
    const serving = await Serving.start("counter");
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const ask = (headers: Record<string, string>, method = "POST") =>
      fetch(`http://127.0.0.1:${serving.port}/mcp`, {
        method,
        headers: { "Content-Type": "application/json", Accept: accept, ...headers },
        ...(method === "POST" && { body }),
      });
    const own = { Authorization: `Bearer ${serving.token}` };
    expect((await ask(own)).status).toBe(200);
    expect((await ask({})).status).toBe(401);
    expect((await ask({ Authorization: "Bearer wrong" })).status).toBe(401);
    expect((await ask({ ...own, Origin: "http://other.test" })).status).toBe(403);
    expect((await ask({ ...own, Host: "other.test" })).status).toBe(403);
    expect((await ask({ ...own, "Content-Type": "text/plain" })).status).toBe(400);
    expect((await ask(own, "GET")).status).toBe(405);
  });

  test("never lets a model approve", async () => {
    const serving = await Serving.start("asker");
    const threadId = await serving.run("asker", { wait: { for: "approval" } });
    await serving.until(threadId, "waiting");
    const client = await McpClient.connect(serving);
    const answer = { threadId, answer: "yes", question: 1 };
    expect(await client.code("answer_thread", answer)).toBe("APPROVAL_NOT_ALLOWED");
  });
});

describe.each([true, false])("a client (modern: %p)", (modern) => {
  test("that sends invalid messages gets errors, and other clients are served", async () => {
    const serving = await Serving.start("counter");
    const post = async (body: string) => {
      const headers = { "Content-Type": "application/json", Accept: accept };
      const response = await serving.fetch("/mcp", { method: "POST", headers, body });
      return { status: response.status, text: await response.text() };
    };
    const call = (params: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const bad = [
      ...["{", "null", "[]", "[1]", '"x"', "{}", '{"jsonrpc":"1.0"}', "\0", "x".repeat(100_000)],
      ...[null, {}, [], { name: 7 }, { name: "none" }, { name: "get_thread", arguments: [] }].map(
        (params) => JSON.stringify(call(params)),
      ),
      JSON.stringify({ jsonrpc: "2.0", id: {}, method: "tools/list" }),
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "__proto__" }),
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/none" }),
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
    ];
    for (const body of bad) {
      const { status, text } = await post(body);
      const isRefused = status >= 400 || /"error":\{|"isError":true/.test(text);
      expect({ body: body.slice(0, 80), text, isRefused }).toMatchObject({ isRefused: true });
    }
    const params = { requestId: [], reason: 7 };
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params };
    expect((await post(JSON.stringify(cancelled))).text).not.toContain("result");
    const client = await McpClient.connect(serving, { modern });
    expect((await client.tools()).length).toBe(13);
  });

  test("that sends invalid arguments gets an error with their names", async () => {
    const serving = await Serving.start("counter");
    const client = await McpClient.connect(handlerOf(serving), { modern });
    const messageOf = async (name: string, args: Record<string, unknown>) => {
      const { isError, data } = await client.call(name, args);
      expect(isError).toBe(true);
      return [data.error.code, ...(data.error.details ?? [data.error.message])];
    };
    expect(await messageOf("start_thread", { workflw: "counter" })).toEqual([
      ...["BAD_REQUEST", "arguments.workflow: Invalid input: expected string, received undefined"],
      "arguments.workflw: unknown name; did you mean workflow?",
    ]);
    expect(await messageOf("start_thread", { workflow: "counter", wait: 601 })).toEqual([
      ...["BAD_REQUEST", "arguments.wait: Too big: expected number to be <=600"],
    ]);
    expect((await client.call("start_thread")).data.error.hint).toBe(
      "see the inputSchema of the tool",
    );
    expect((await messageOf("start_thread", { workflow: "countr" }))[0]).toBe("WORKFLOW_NOT_FOUND");
    expect((await messageOf("get_thread", { threadId: "none" }))[0]).toBe("THREAD_NOT_FOUND");
    expect((await messageOf("search_threads", { since: "soon" }))[0]).toBe("BAD_REQUEST");
    expect((await messageOf("search_threads", { cursor: "none" }))[0]).toBe("BAD_REQUEST");
    expect(
      (await messageOf("fork_thread", { threadId: "@last", atStep: 1, fromRole: "x" }))[0],
    ).toBe("BAD_REQUEST");
  });

  test("that cancels a wait frees the call, and the thread continues", async () => {
    const serving = await Serving.start("endless");
    const client = await McpClient.connect(serving, { modern });
    const { threadId } = await client.ok("start_thread", { workflow: "endless" });
    const controller = new AbortController();
    let reported = 0;
    const waits = Array.from({ length: 64 }, () =>
      client
        .call(
          "get_thread",
          { threadId, wait: 600 },
          {
            ...{ signal: controller.signal, onprogress: () => (reported += 1) },
          },
        )
        .catch(String),
    );
    await until(() => reported >= 64);
    expect(await client.code("get_thread", { threadId })).toBe("TOO_MANY_CALLS");
    controller.abort("enough");
    await Promise.all(waits);
    await until(async () => !(await client.call("get_thread", { threadId })).isError);
    const { steps } = await client.ok("get_thread", { threadId });
    await serving.until(threadId, "running", steps + 1);
  });

  test("that disconnects frees its calls", async () => {
    const serving = await Serving.start("endless");
    const client = await McpClient.connect(serving, { modern });
    const { threadId } = await client.ok("start_thread", { workflow: "endless" });
    const leaving = await McpClient.connect(serving, { modern });
    let reported = 0;
    for (let n = 0; n < 64; n += 1) {
      void leaving
        .call("get_thread", { threadId, wait: 600 }, { onprogress: () => (reported += 1) })
        .catch(() => undefined);
    }
    await until(() => reported >= 64);
    await leaving.client.close();
    await until(async () => !(await client.call("get_thread", { threadId })).isError);
  });
});

test("two concurrent clients each get their own answers", async () => {
  const serving = await Serving.start("asker");
  const clients = await Promise.all(
    [true, false].map((modern) => McpClient.connect(serving, { modern, name: `m ${modern}` })),
  );
  const answered = await Promise.all(
    clients.map(async (client, index) => {
      const threadId = await serving.run("asker", { wait: { schema: { type: "string" } } });
      await client.ok("get_thread", { threadId, wait: 60 });
      const answer = { threadId, answer: `answer ${index}`, wait: 60 };
      expect((await client.ok("answer_thread", answer)).status).toBe("completed");
      const { records } = await client.ok("get_thread", { threadId, cursor: "steps:1" });
      return [records[1].content, records[1].by];
    }),
  );
  expect(answered).toEqual([
    ["answer 0", "mcp m true"],
    ["answer 1", "mcp m false"],
  ]);
});

test("a dropped session is still served, without the client's name", async () => {
  const serving = await Serving.start("counter");
  const first = await McpClient.connect(serving, { modern: false });
  for (let n = 0; n < 101; n += 1) {
    const other = await McpClient.connect(serving, { modern: false });
    await other.client.ping();
  }
  expect((await first.ok("start_thread", { workflow: "counter", wait: 60 })).status).toBe(
    "completed",
  );
});

test("long names are truncated, so that a started thread is always reported", async () => {
  const serving = await Serving.start();
  await serving.add(
    "long",
    bundleOf(`
      if (input.steps.length === 0) yield step("r".repeat(30_000), "", {});
      yield step("__wait__", "?", { for: "w".repeat(30_000) });`),
  );
  const client = await McpClient.connect(serving);
  const started = await client.ok("start_thread", { workflow: "long", wait: 60 });
  expect(started).toMatchObject({ status: "waiting", question: { number: 2 } });
  const { threadId } = started;
  const { records } = await client.ok("get_thread", { threadId, cursor: "steps:1" });
  expect(records).toHaveLength(2);
});

test("the error for a missing resource has a code and a hint", async () => {
  const { client } = await McpClient.connect(await Serving.start("counter"));
  const errorOf = (uri: string) => client.readResource({ uri }).catch((error: unknown) => error);
  for (const [path, code] of [
    ["threads/none", "THREAD_NOT_FOUND"],
    ["workflows/none", "WORKFLOW_NOT_FOUND"],
    ["docs/none", "RESOURCE_NOT_FOUND"],
  ]) {
    const data = { code, hint: expect.any(String) };
    expect(await errorOf(`uncaged://${path}`)).toMatchObject({ code: -32602, data });
  }
});

test("the state of a corrupt thread has the position of the damage", async () => {
  const serving = await ServingRoot.start("counter");
  const client = await McpClient.connect(serving);
  const { threadId, hash } = await client.ok("start_thread", { workflow: "counter", wait: 60 });
  const log = join(serving.path, "logs", hash, `${threadId}.data.jsonl`);
  const [start = "", ...rest] = readFileSync(log, "utf8").split("\n");
  writeFileSync(log, [start, '{"role":1}', ...rest].join("\n"));
  expect(await client.ok("get_thread", { threadId })).toMatchObject({
    ...{ status: "corrupt", problem: expect.stringContaining("line 2") },
  });
});
