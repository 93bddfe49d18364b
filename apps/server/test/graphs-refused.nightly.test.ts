import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GraphConfig } from "../src/api-types.ts";
import { asking } from "./flows.ts";
import { agent, approval, Drawn, graphOf, linesOf, start } from "./graph-client.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;

beforeAll(async () => {
  drawn = await Drawn.start(() => ({ text: "fine" }));
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const small = graphOf([start("x"), approval("ok")], "s ok");
const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** What a request is refused with, and that it is JSON. */
async function refused(path: string, body: unknown): Promise<unknown[]> {
  const { status, body: answer } = await drawn.post(path, body);
  return [status, answer.error];
}

test.each([
  ["nothing", {}],
  ["no connections", { graph: { nodes: [] } }],
  ["nodes that are none", { graph: { nodes: {}, connections: [] } }],
  ["a graph in a text", { graph: JSON.stringify(small) }],
  ["a list", []],
  ["null", null],
])("%s is no graph, on both ways to run one", async (_, body) => {
  const error = [400, "Invalid workflow graph payload"];
  expect(await refused("run", body)).toEqual(error);
  expect(await refused("run-stream", body)).toEqual(error);
});

test.each([
  ["two nodes with one id", [start("x"), start("y")]],
  ["an id that is reserved", [start("x"), { id: "__wait__", type: "agent" }]],
  ["a node without an id", [start("x"), { type: "agent" }]],
  ["a node that is none", [null]],
])("%s can't be run", async (_, nodes) => {
  const { status, body } = await drawn.post("run", { graph: { nodes, connections: [] } });
  expect([status, body.error]).toEqual([400, "Invalid workflow graph payload"]);
  expect(body.details).toEqual([expect.any(String) as unknown as string]);
});

test("a graph of odd nodes is run as it is", async () => {
  const nodes = [
    { id: "Start", type: "Start" },
    { id: "constructor", type: "start", x: "left", data: null },
    { id: "if", type: "if", data: { conditions: "x" } },
    { id: "or", type: "if", data: { conditions: [{ operator: "?", value: null }, 7, null] } },
    { id: "second", type: "start" },
    { id: "what", type: "what" },
  ];
  const connections = [
    { source: "constructor", target: "if" },
    { source: "if", target: "or", sourceHandle: "false" },
    { source: "or", target: "what", sourceHandle: "false" },
    { source: "what", target: "nobody", sourceHandle: "odd" },
    { target: "what" },
    null,
  ];
  const { status, body } = await drawn.post("run", { graph: { nodes, connections } });
  expect([status, body.status]).toEqual([200, "completed"]);
  const lines = linesOf(body);
  expect(lines).toContain('what warn: Unknown node type "what" skipped');
  expect(lines).toContain('what warn: Connection target "nobody" not found');
});

test("a graph without a start node fails, and that is a result", async () => {
  const { status, body } = await drawn.post("run", { graph: { nodes: [], connections: [] } });
  expect([status, body.status]).toEqual([200, "failed"]);
  expect(linesOf(body)).toEqual(["system error: No start node found in workflow graph"]);
});

test("what is sent must be JSON of at most 1 MB, that is not nested too deeply", async () => {
  const send = (body: string, type = "application/json") =>
    drawn.serving.fetch("/api/run-stream", {
      method: "POST",
      body,
      headers: { "Content-Type": type },
    });
  const refusals = [
    await send("{"),
    await send("nodes: []", "text/plain"),
    await send(JSON.stringify({ graph: small, more: "x".repeat(1024 * 1024) })),
    await send(`{"graph": {"nodes": ${"[".repeat(2000)}${"]".repeat(2000)}, "connections": []}}`),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([400, 400, 413, 400]);
  for (const response of refusals) {
    expect(await response.json()).toMatchObject({ error: expect.any(String) as unknown });
  }
  const large = { ...approval("ok"), data: { prompt: "x".repeat(1_000_000) } };
  const { body } = await drawn.post("run", { graph: graphOf([start("x"), large], "s ok") });
  expect([body.status, body.currentNodeId]).toEqual(["paused", "ok"]);
  expect((await drawn.run(body.runId)).workflow.nodes).toHaveLength(2);
});

test("an id is a whole one of a thread, or digits", async () => {
  const gets = ["..%2Fx", "12a", "x", nobody.slice(1), "@last", nobody, "12345"].map(async (id) => {
    const { status, body } = await drawn.serving.ask<{ error: string }>(`/api/run/${id}`);
    return [status, body.error];
  });
  const bad = [400, "Invalid runId"];
  const missing = [404, "Run not found"];
  expect(await Promise.all(gets)).toEqual([bad, bad, bad, bad, bad, missing, missing]);
  for (const path of ["resume", "resume-stream", "cancel", "retry"]) {
    for (const runId of [undefined, "", 5, {}, null]) {
      expect(await refused(path, { runId })).toEqual([400, "runId is required"]);
    }
    for (const runId of [nobody, "12345", "../x", "@last"]) {
      expect(await refused(path, { runId })).toEqual([404, "Run ID not found"]);
    }
  }
});

test("a run of another kind is none", async () => {
  await drawn.serving.add("asking", JSON.stringify(asking), "asking.json");
  const runId = await drawn.serving.run("asking");
  expect((await drawn.serving.ask(`/api/run/${runId}`)).status).toBe(404);
  expect((await drawn.serving.ask(`/api/run/${runId}/events`)).status).toBe(404);
  for (const path of ["resume", "resume-stream", "cancel", "retry"]) {
    expect(await refused(path, { runId })).toEqual([404, "Run ID not found"]);
  }
});

test("a run that does not wait takes no answer, and one that has not failed is not retried", async () => {
  const ended = await drawn.post("run", { graph: graphOf([start("x"), agent("a")], "s a") });
  const { runId } = ended.body;
  expect(ended.body.status).toBe("completed");
  const notWaiting = [409, "Run is not waiting for input."];
  expect(await refused("resume", { runId, input: "yes" })).toEqual(notWaiting);
  expect(await refused("resume-stream", { runId, input: "yes" })).toEqual(notWaiting);
  expect(await refused("retry", { runId })).toEqual([409, "Run has not failed."]);
  expect(await refused("retry", { runId, nodeId: "b" })).toEqual([404, "Node has not run."]);
  const cancelled = await drawn.post("cancel", { runId });
  expect([cancelled.status, cancelled.body]).toEqual([200, ended.body]);
});

test("an answer that is not a decision is refused, and the run goes on waiting", async () => {
  const { body } = await drawn.post("run", { graph: small });
  const { runId } = body;
  const inputs = ["Please REJECT this", {}, undefined, null, "", 5, ["reject"], { note: "yes" }];
  for (const input of [...inputs, { decision: "approve", approved: false }]) {
    const [status, error] = await refused("resume", { runId, input });
    expect(status).toBe(400);
    expect(error).toContain("must be approve or reject");
    expect((await refused("resume-stream", { runId, input }))[0]).toBe(400);
  }
  expect(await drawn.run(runId)).toMatchObject({ status: "paused", waitingForInput: true });
  const note = "n".repeat(900_000);
  const { body: done } = await drawn.post("resume", { runId, input: { approved: true, note } });
  expect(done).toMatchObject({
    status: "completed",
    state: { ok_approval: { decision: "approve", note } },
  });
});

test("each form of a decision is taken", async () => {
  const inputs = [
    "Rejected",
    false,
    { decision: "Reject" },
    "yes",
    { decision: "approve", note: 7 },
  ];
  const answers = await Promise.all(
    inputs.map(async (input) => {
      const { body } = await drawn.post("run", { graph: small });
      const { status, body: done } = await drawn.post("resume", { runId: body.runId, input });
      return [status, done.status, done.state.ok_approval];
    }),
  );
  const of = (decision: string) => [200, "completed", { decision, note: "" }];
  expect(answers).toEqual(["reject", "reject", "reject", "approve", "approve"].map(of));
});

test("the config and the graph to begin with are files, and without one the built-in providers", async () => {
  const get = (name: string) => drawn.serving.ask<GraphConfig & { error: string }>(`/api/${name}`);
  const { status, body } = await get("config");
  expect(status).toBe(200);
  expect(body.providers.map(({ id, enabled }) => [id, enabled])).toEqual([
    ["openai", true],
    ["anthropic", false],
  ]);
  expect(body.providers[0]?.models).toContainEqual(
    expect.objectContaining({ id: "gpt-5", name: "gpt-5" }),
  );
  expect((await get("default-workflow")).status).toBe(404);
  const folder = join(drawn.serving.path, ".config");
  mkdirSync(folder, { recursive: true });
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const config = { providers: [{ id: "own", name: "Own", enabled: true, models: [], extra: 1 }] };
  put("config.json", JSON.stringify(config));
  put("default-workflow.json", JSON.stringify(small));
  expect((await get("config")).body).toEqual(config as never);
  expect((await get("default-workflow")).body).toEqual(small as never);
  for (const text of ["{", "[]", '{"nodes": [], "connections": {}}', '{"providers": [{}]}', ""]) {
    put("config.json", text);
    put("default-workflow.json", text);
    expect([(await get("config")).status, (await get("default-workflow")).status]).toEqual([
      400, 400,
    ]);
  }
});
