import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { bundleOf } from "../../workflow/test/fixtures/bundles.ts";
import { ApiDocument, type ApiDescription } from "./api-document.ts";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Running } from "./running.ts";
import { id as evalId, recordEval } from "./recorded-eval.ts";
import type { Serving } from "./serving.ts";

/* Checks every response of every path against /api/openapi.json. */

const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** A workflow that publishes a value that is too long for its event, then asks a question. */
const teller = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const payload = { name: "read", output: "x".repeat(30_000) };
  channel("uncaged.workflow").publish({ type: "tool_done", stepID: "teller", payload });
  if (input.steps.length > 0) return done;
  yield step("teller", "told", { usage: { input_tokens: 3 }, model: "m" });
  yield step("__wait__", "may I?", { for: "leave" });
`)}`;

const counting = bundleOf(`
  for (let n = input.steps.length; ; n += 1) {
    yield step("count", String(n), { n });
    await sleep(20);
  }
`);

let running: Running;
let serving: Serving;
let document: ApiDocument;
const ids = { teller: "", counting: "", failing: "", writer: "", asking: "" };

beforeAll(async () => {
  running = await Running.start();
  ({ serving } = running);
  await serving.add("teller", teller);
  await serving.add("counting", counting);
  document = new ApiDocument(await serving.ok<ApiDescription>("/api/openapi.json"));
  ids.teller = await serving.run("teller");
  ids.counting = await serving.run("counting");
  ids.failing = await running.run({ workflowName: "failing" });
  ids.writer = await running.run({ workflowName: "writer", params: { topic: "tea" } });
  ids.asking = await running.run({ workflowName: "asking" });
  await serving.until(ids.teller, "waiting");
  await serving.until(ids.counting, "running", 1);
  await running.until(ids.failing, "failed");
  await running.until(ids.writer, "stopped");
  await running.until(ids.asking, "paused");
}, 180_000);
afterAll(() => running.stop(), 180_000);

type Request = { status: number; send?: unknown; headers?: Record<string, string> };

/** Sends a request such as `GET /api/threads/{id}/log?limit=1` with an id, and checks the answer. */
async function fits(
  described: string,
  { status, send, headers = {} }: Request,
  ...places: string[]
): Promise<string> {
  const [method = "", template = ""] = described.split(" ");
  const left = [...places];
  const path = template.replace(/\{\w+\}/g, () => left.shift() ?? "");
  const json = { "Content-Type": "application/json" };
  const sends = send !== undefined;
  const response = await serving.fetch(path, {
    method,
    headers: { ...(sends && json), ...headers },
    ...(sends && { body: typeof send === "string" ? send : JSON.stringify(send) }),
  });
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const isStream = type === "text/event-stream";
  if (isStream) await response.body?.cancel();
  const text = isStream ? "" : await response.text();
  const got = response.status;
  const answer = { status: got, type, text };
  const errors = document.errorsOf(`${method} ${template.replace(/\?.*/, "")}`, answer);
  expect({ path, got, errors }).toEqual({ path, got: status, errors: [] });
  return text;
}

test("paths that read threads match the description", async () => {
  await fits("GET /api/server", { status: 200 });
  await fits("GET /api/threads?limit=3", { status: 200 });
  await fits("GET /api/threads?hasError=true&minCost=0.5", { status: 200 });
  await fits("GET /api/threads/summary?since=1", { status: 200 });
  await fits("GET /api/live", { status: 200 });
  for (const id of Object.values(ids)) {
    await fits("GET /api/threads/{id}", { status: 200 }, id);
    await fits("GET /api/threads/{id}?steps=false", { status: 200 }, id);
    await fits("GET /api/threads/{id}/steps", { status: 200 }, id);
    await fits("GET /api/threads/{id}/ledger", { status: 200 }, id);
    await fits("GET /api/threads/{id}/attempts", { status: 200 }, id);
    await fits("GET /api/threads/{id}/family", { status: 200 }, id);
    await fits("GET /api/threads/{id}/diff?with=@last", { status: 200 }, id);
    await fits("GET /api/threads/{id}/log", { status: 200 }, id);
    await fits("GET /api/threads/{id}/events", { status: 200 }, id);
  }
  await fits("GET /api/threads/{id}/values/{at}", { status: 200 }, ids.teller, "0");
  await fits("GET /api/events", { status: 200 });
  const ended = { "Last-Event-ID": (await lastId(`threads/${ids.failing}`)) ?? "" };
  await fits("GET /api/threads/{id}/events", { status: 204, headers: ended }, ids.failing);
});

/** Returns the id of the last event of a thread or run. */
async function lastId(path: string): Promise<string | undefined> {
  const text = await (await serving.fetch(`/api/${path}/events`)).text();
  return text
    .match(/^id: .*$/gm)
    ?.at(-1)
    ?.slice(4);
}

test("paths that act on threads match the description", async () => {
  const start = { status: 201, send: { workflow: "counting", options: { note: "described" } } };
  const { threadId } = JSON.parse(await fits("POST /api/threads", start)) as { threadId: string };
  await serving.until(threadId, "running", 1);
  await fits("POST /api/threads/{id}/pause", { status: 200 }, threadId);
  await serving.until(threadId, "paused");
  await fits("POST /api/threads/{id}/resume", { status: 200, send: {} }, threadId);
  await fits("POST /api/threads/{id}/kill", { status: 200 }, threadId);
  await fits("POST /api/threads/{id}/retry", { status: 201 }, threadId);
  const fork = JSON.parse(
    await fits("POST /api/threads/{id}/fork", { status: 201, send: {} }, threadId),
  ) as { threadId: string };
  await fits("DELETE /api/threads/{id}?force=true", { status: 200 }, fork.threadId);
  await fits("POST /api/threads/{id}/input", { status: 200, send: { content: "1" } }, ids.teller);
});

test("paths of workflows match the description", async () => {
  const file = { "Content-Type": "application/octet-stream" };
  const sent = { status: 200, send: `${counting}\n// another`, headers: file };
  await fits("POST /api/workflows/{name}?file=counting.esm.js", sent, "counting");
  await fits("POST /api/workflows/{name}?file=counting.esm.js", sent, "counting");
  await fits("GET /api/workflows", { status: 200 });
  await fits("GET /api/workflows/{name}", { status: 200 }, "counting");
  await fits("GET /api/workflows/{name}/history", { status: 200 }, "counting");
  for (const name of ["counting", "writer"]) {
    await fits("GET /api/bundles/{workflow}", { status: 200 }, name);
    await fits("GET /api/bundles/{workflow}/descriptor", { status: 200 }, name);
    await fits("GET /api/bundles/{workflow}/form", { status: 200 }, name);
    await fits("GET /api/bundles/{workflow}/source", { status: 200 }, name);
  }
  await fits("GET /api/bundles/{workflow}/document", { status: 200 }, "writer");
  await fits("GET /api/tools", { status: 200 });
  const version = { status: 200, send: { version: "counting" } };
  await fits("POST /api/workflows/{name}/check", version, "counting");
  await fits("POST /api/workflows/{name}/rollback", { status: 200 }, "counting");
  await fits("DELETE /api/workflows/{name}", { status: 200 }, "counting");
});

test("paths of runs match the description", async () => {
  for (const id of [ids.failing, ids.writer, ids.asking]) {
    await fits("GET /workflow/{runID}/status", { status: 200 }, id);
    await fits("GET /workflow/{runID}/variables", { status: 200 }, id);
    await fits("GET /workflow/{runID}/artifacts", { status: 200 }, id);
    await fits("GET /workflow/{runID}/checkpoint", { status: 200 }, id);
    await fits("GET /workflow/{runID}/checkpoint?steps=0", { status: 200 }, id);
    await fits("GET /workflow/{runID}/values?step=1", { status: 200 }, id);
    await fits("GET /workflow/{runID}/events", { status: 200 }, id);
  }
  const ended = { "Last-Event-ID": String((await running.status(ids.writer)).eventSeq) };
  await fits("GET /workflow/{runID}/events", { status: 204, headers: ended }, ids.writer);
  const { paused } = await running.status(ids.asking);
  const answer = { token: paused?.token, payload: { word: "yes" } };
  await fits("POST /workflow/{runID}/resume", { status: 200, send: answer }, ids.asking);
  await running.until(ids.asking, "completed");
  const checkpoint = { threadId: ids.failing, steps: 1 };
  const again = { checkpoint, stepID: "Set_M", overrides: { $n: 5 } };
  await fits("POST /workflow/rerun", { status: 200, send: again });
  const started = await fits("POST /workflow/run", {
    status: 200,
    send: { workflowName: "asking" },
  });
  const { runID } = JSON.parse(started) as { runID: string };
  await fits("POST /workflow/{runID}/pause", { status: 200 }, runID);
  await fits("POST /workflow/{runID}/abort", { status: 200 }, runID);
});

test("paths of evals match the description", async () => {
  recordEval(serving.path);
  await fits("GET /api/evals", { status: 200 });
  await fits("GET /api/evals/{id}", { status: 200 }, evalId);
});

test("paths of graphs match the description", async () => {
  const nodes = [
    { id: "s", type: "start" },
    { id: "ok", type: "approval" },
  ];
  const graph = { nodes, connections: [{ source: "s", target: "ok" }] };
  const sent = { status: 200, send: { graph } };
  const { runId } = JSON.parse(await fits("POST /api/run", sent)) as { runId: string };
  await fits("POST /api/run-stream", sent);
  const missing = { nodes: [...nodes, { id: "a", type: "agent" }], connections: [] };
  await fits("POST /api/run", { status: 503, send: { graph: missing } });
  expect(await fits("POST /api/run-stream", { status: 503, send: { graph: missing } })).toContain(
    '"error":"OPENAI_API_KEY is required to run workflows with Agent nodes."',
  );
  await fits("GET /api/run/{runId}", { status: 200 }, runId);
  await fits("GET /api/run/{runId}/events", { status: 200 }, runId);
  await fits("POST /api/resume", { status: 200, send: { runId, input: "yes" } });
  await fits("POST /api/resume", { status: 409, send: { runId, input: "yes" } });
  await fits("POST /api/retry", { status: 409, send: { runId } });
  const again = { status: 200, send: { runId, nodeId: "ok" } };
  const fork = JSON.parse(await fits("POST /api/retry", again)) as { runId: string };
  await running.serving.until(fork.runId, "waiting");
  await fits("POST /api/resume-stream", { status: 200, send: { runId: fork.runId, input: "yes" } });
  await fits("POST /api/cancel", { status: 200, send: { runId } });
  await fits("POST /api/cancel", { status: 404, send: { runId: nobody } });
  const ended = { "Last-Event-ID": (await lastId(`run/${runId}`)) ?? "" };
  await fits("GET /api/run/{runId}/events", { status: 204, headers: ended }, runId);
  await fits("GET /api/default-workflow", { status: 404 });
  await fits("GET /api/config", { status: 200 });
  const file = join(serving.path, ".config", "default-workflow.json");
  mkdirSync(dirname(file));
  writeFileSync(file, JSON.stringify(graph));
  await fits("GET /api/default-workflow", { status: 200 });
});

/** Tells whether a described answer belongs to plans, which `plans.test.ts` checks. */
const ofPlans = (described: string): boolean => / \/api\/plan/.test(described);

const unknown: Record<string, string> = { id: nobody, at: "0", name: "none", workflow: "none" };

test("errors for missing items match the description on each path with an id or a name", async () => {
  const bodies: Record<string, unknown> = {
    input: { content: "x" },
    fork: {},
    retry: {},
    check: { version: "x" },
  };
  for (const place of document.unseen.filter((one) => /\}.* 404$/.test(one) && !ofPlans(one))) {
    const [method = "", path = ""] = place.split(" ");
    if (method === "POST" && path.endsWith("/workflows/{name}")) continue;
    const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => unknown[name] ?? nobody);
    const send = bodies[path.split("/").at(-1) ?? ""];
    const query = path.endsWith("/diff") ? "?with=x" : path.endsWith("/values") ? "?step=1" : "";
    const isStream = path === "/workflow/{runID}/events";
    await fits(`${method} ${path}${query}`, { status: isStream ? 200 : 404, send }, ...places);
  }
});

test("refusals match the description on every path", async () => {
  const all = [...new Set(document.unseen.map((one) => one.replace(/ \d+$/, "")))];
  for (const one of all) {
    const [method = ""] = one.split(" ");
    const places = ["x", "0"];
    const wrong = { Authorization: "Bearer wrong" };
    await fits(one, { status: 401, headers: wrong }, ...places);
    await fits(one, { status: 403, headers: { Origin: "http://evil.example" } }, ...places);
    if (method !== "POST") continue;
    const form = { "Content-Type": "text/html" };
    await fits(one, { status: 400, send: "x", headers: form }, ...places);
    const length = 33 * 1024 * 1024;
    await fits(one, { status: 413, send: " ".repeat(length) }, ...places);
  }
}, 180_000);

test("paths for all threads match the description", async () => {
  await fits("GET /api/interrupted", { status: 200 });
  await fits("POST /api/interrupted/resume", { status: 200 });
  await fits("POST /api/pause", { status: 200 });
  await fits("POST /api/kill", { status: 200 });
});

test("streams above the limit match the description", async () => {
  await serving.end();
  serving.options = { streams: { most: 0 } };
  await serving.serve();
  const graph = { nodes: [], connections: [] };
  await fits("GET /api/threads/{id}/events", { status: 503 }, ids.teller);
  await fits("GET /api/events", { status: 503 });
  await fits("POST /api/run-stream", { status: 503, send: { graph } });
  await fits("POST /api/resume-stream", { status: 503, send: { runId: nobody, input: {} } });
  await fits("GET /api/run/{runId}/events", { status: 503 }, nobody);
  await fits("GET /workflow/{runID}/events", { status: 503 }, ids.writer);
});

test("every described answer was checked, except common errors", () => {
  const left = document.unseen.filter(
    (one) => !/ (400|404|408|409|413|429|500)$/.test(one) && !ofPlans(one),
  );
  expect(left).toEqual([]);
});

test("the description passes a linter's rules", async () => {
  const source = await (await serving.fetch("/api/openapi.json")).text();
  const config = await createConfig({ extends: ["recommended"] });
  const found = await lintFromString({ source, absoluteRef: "/openapi.json", config });
  expect(
    found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
  ).toEqual([]);
  expect(source).not.toMatch(/"allOf":\[[^\]]*"null"/);
});
