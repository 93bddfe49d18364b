import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GraphConfig } from "../src/entry/api-types.ts";
import { asking } from "./flows.ts";
import { agent, approval, Drawn, graphOf, start } from "./graph-client.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;

beforeAll(async () => {
  drawn = await Drawn.start(() => ({ text: "fine" }));
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const small = graphOf([start("x"), approval("ok")], "s ok");
const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** Returns a request's error response as JSON. */
async function refused(path: string, body: unknown): Promise<unknown[]> {
  const { status, body: answer } = await drawn.post(path, body);
  return [status, answer.error];
}

test("an invalid graph is refused on both paths that run one", async () => {
  const error = [400, "Invalid workflow graph payload"];
  for (const path of ["run", "run-stream"]) {
    expect(await refused(path, { graph: { nodes: {}, connections: [] } })).toEqual(error);
  }
  const twice = { nodes: [start("x"), start("y")], connections: [] };
  const { status, body } = await drawn.post("run", { graph: twice });
  expect([status, body.error]).toEqual(error);
  expect(body.details).toEqual([expect.any(String) as unknown as string]);
});

test("a run id must be a complete thread id or digits", async () => {
  const gets = ["..%2Fx", nobody.slice(1), "@last", nobody, "12345"].map(async (id) => {
    const { status, body } = await drawn.serving.ask<{ error: string }>(`/api/run/${id}`);
    return [status, body.error];
  });
  const bad = [400, "Invalid runId"];
  const missing = [404, "Run not found"];
  expect(await Promise.all(gets)).toEqual([bad, bad, bad, missing, missing]);
  for (const path of ["resume", "resume-stream", "cancel", "retry"]) {
    expect(await refused(path, {})).toEqual([400, "runId is required"]);
    expect(await refused(path, { runId: "@last" })).toEqual([404, "Run ID not found"]);
  }
});

test("a thread of another kind of workflow is not a run of a graph", async () => {
  await drawn.serving.add("asking", JSON.stringify(asking), "asking.json");
  const runId = await drawn.serving.run("asking");
  expect((await drawn.serving.ask(`/api/run/${runId}`)).status).toBe(404);
  expect((await drawn.serving.ask(`/api/run/${runId}/events`)).status).toBe(404);
  for (const path of ["resume", "resume-stream", "cancel", "retry"]) {
    expect(await refused(path, { runId })).toEqual([404, "Run ID not found"]);
  }
});

test("a run that does not wait accepts no answer, and a run that has not failed can't be retried", async () => {
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

test("the config and the default graph are files; without a config, the built-in providers apply", async () => {
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
