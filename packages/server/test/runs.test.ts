import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Running } from "./running.ts";
import type { Serving } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

let running: Running;
let serving: Serving;

beforeAll(async () => {
  running = await Running.start();
  ({ serving } = running);
}, 180_000);
afterAll(() => running.stop(), 180_000);

const eventsPath = (runID: string) => `/workflow/${runID}/events`;
const names = (sent: Sent[]) => sent.map(({ name }) => name);
const ids = (sent: Sent[]) => sent.map(({ id }) => Number(id));

test("a run is started, followed, read, and run again from a step with another value", async () => {
  const runID = await running.run({
    workflowName: "writer",
    params: { topic: "Leaves" },
    clientRunToken: "mine",
  });
  const sent = await running.events(runID);
  expect(ids(sent)).toEqual([...new Set(ids(sent))].sort((a, b) => a - b));
  expect(names(sent)[0]).toBe("workflow_start");
  expect(sent[0]?.data).toMatchObject({ stepID: null, name: "writer", version: "3.17" });
  expect(names(sent.filter(({ data }) => data.stepID === "Tool_010_ReadFile"))).toEqual([
    "step_start",
    "tool_start",
    "tool_done",
    "var_changed",
    "step_done",
  ]);
  const tool = sent.filter(({ name }) => name.startsWith("tool_"));
  for (const { data } of tool) expect(data).toMatchObject({ runID, clientRunToken: "mine" });
  const writing = sent.filter(({ data }) => data.stepID === "LLM_Write");
  const deltas = writing.filter(({ name }) => name === "llm_token").map(({ data }) => data.delta);
  expect(deltas.join("")).toBe("about dry");
  expect(names(writing)).toContain("llm_thinking");
  expect(writing[0]?.data).toMatchObject({ type: "LLM", resolvedInputs: expect.anything() });
  expect(writing.at(-1)?.data).toMatchObject({ outputs: { $text: "about dry" } });
  expect(sent.at(-1)).toMatchObject({ name: "workflow_done", data: { stop_id: "Stop_End" } });

  const snapshot = await running.status(runID);
  expect(snapshot).toMatchObject({
    runID,
    status: "stopped",
    currentStepID: null,
    params: { topic: "Leaves", tone: "dry" },
    variables: { $text: "about dry", $style: "dry" },
    artifacts: ["out/text.txt"],
    paused: null,
    eventSeq: Number(sent.at(-1)?.id),
    version: "3.17",
  });
  expect(await running.variables(runID)).toEqual(snapshot.variables);
  expect(await serving.ok<string[]>(`/workflow/${runID}/artifacts`)).toEqual(["out/text.txt"]);

  const before = await running.checkpoint(runID, "LLM_Write");
  expect(before).toMatchObject({ currentStepID: "LLM_Write", variables: { $text: null } });
  const source = await serving.until(runID, "completed");
  const again = await running.rerun({
    workflowName: "writer",
    checkpoint: await running.checkpoint(runID),
    stepID: "LLM_Write",
    overrides: { $style: "warm" },
  });
  expect(again).not.toBe(runID);
  const rest = await running.events(again);
  expect(rest[0]).toMatchObject({ name: "workflow_start", data: { resumedFrom: "LLM_Write" } });
  const stepsDone = rest.filter(({ name }) => name === "step_done").map(({ data }) => data.stepID);
  expect(stepsDone).toEqual(["LLM_Write", "Write_Out", "Stop_End"]);
  expect(readFileSync(join(serving.folder, "out/text.txt"), "utf8")).toBe("about warm");
  expect(await serving.until(runID, "completed")).toEqual(source);
}, 180_000);

describe("a resumed stream", () => {
  let runID: string;
  let whole: Sent[];

  beforeAll(async () => {
    runID = await running.run({ workflowName: "story", params: { chapters: [1, 2, 3] } });
    whole = await running.events(runID);
  }, 180_000);

  test("continues after every id with only unsent messages", async () => {
    for (const [at, { id }] of whole.slice(0, -1).entries()) {
      expect(await running.events(runID, id ?? "")).toEqual(whole.slice(at + 1));
    }
  });

  test("is closed with status 204 after the last event or a later id", async () => {
    const last = Number(whole.at(-1)?.id);
    for (const id of [last, last + 5, 999_999]) {
      const headers = { "Last-Event-ID": String(id) };
      expect((await serving.fetch(eventsPath(runID), { headers })).status).toBe(204);
    }
    expect(await running.events(runID, "5a")).toEqual(whole);
  });

  test("sends only new messages to a client whose id is beyond the end", async () => {
    const own = await running.run({ workflowName: "asking" });
    await running.until(own, "paused");
    const rest = running.events(own, "100000");
    const { paused } = await running.status(own);
    await serving.ok(`/workflow/${own}/resume`, { token: paused?.token, payload: { word: "go" } });
    expect(names(await rest)).toEqual([
      "var_changed",
      "pause_resumed",
      "step_done",
      "step_start",
      "var_changed",
      "step_done",
      "workflow_done",
    ]);
  });
});

describe("an aborted run", () => {
  test("is cancelled, and its stream ends with the cancellation", async () => {
    const runID = await running.run({ workflowName: "story", params: { chapters: ["for ever"] } });
    const following = follow(serving, eventsPath(runID));
    await until(async () => (await running.status(runID)).eventSeq >= 4);
    const aborted = await serving.ok<object>(`/workflow/${runID}/abort`, {});
    expect(aborted).toEqual({ runID, status: "cancelled" });
    const sent = await following;
    expect(sent.at(-1)?.name).toBe("workflow_cancelled");
    expect(Object.keys(sent.at(-1)?.data ?? {})).toEqual(["stepID", "duration_ms"]);
    expect(names(sent).filter((name) => name.startsWith("workflow_"))).toHaveLength(2);
    expect(ids(sent)).toEqual([...new Set(ids(sent))].sort((a, b) => a - b));
    expect(await running.status(runID)).toMatchObject({ status: "cancelled" });
    const headers = { "Last-Event-ID": sent.at(-1)?.id ?? "" };
    expect((await serving.fetch(eventsPath(runID), { headers })).status).toBe(204);
    for (const verb of ["abort", "pause"]) {
      const after = await serving.ok<object>(`/workflow/${runID}/${verb}`, {});
      expect(after).toEqual({ runID, status: "cancelled" });
    }
    expect((await running.post(`${runID}/resume`, { token: "x" })).status).toBe(409);
  }, 180_000);
});

test("a run without remaining rounds has failed", async () => {
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", {
    workflow: "story",
    params: { chapters: [1, 2, 3] },
    maxRounds: 2,
  });
  const { name, data } = (await running.events(threadId)).at(-1) ?? {};
  expect(name).toBe("workflow_failed");
  expect(String(data?.error)).toContain("stopped at 2 steps");
  expect(await running.status(threadId)).toMatchObject({ status: "failed" });
});

describe("a Pause", () => {
  test("accepts one answer, only with its token", async () => {
    const runID = await running.run({ workflowName: "asking" });
    const { paused } = await running.until(runID, "paused");
    expect(paused?.nodeID).toBe("Pause_Leave");
    const token = paused?.token;
    for (const body of [{}, { payload: 1 }, { token: 5 }, { payload: { word: "x" } }]) {
      expect((await running.post(`${runID}/resume`, body)).status).toBe(400);
    }
    expect((await running.post(`${runID}/resume`, { token: "other", payload: 1 })).status).toBe(
      409,
    );
    const answer = { token, payload: { word: "yes" }, requestId: "r1" };
    const twice = await Promise.all([
      running.post(`${runID}/resume`, answer),
      running.post(`${runID}/resume`, answer),
    ]);
    expect(twice.map(({ status }) => status)).toEqual([200, 200]);
    const other = await running.post(`${runID}/resume`, { token, payload: { word: "no" } });
    expect(other.status).toBe(409);
    await running.until(runID, "completed");
    expect((await running.post(`${runID}/resume`, answer)).status).toBe(200);
    expect(await running.variables(runID)).toEqual({
      $leave: { word: "yes" },
      $answered: "yes",
    });
    const sent = names(await running.events(runID));
    expect(sent).toContain("pause_start");
    expect(sent).toContain("pause_rejected");
    expect(sent.filter((name) => name === "pause_resumed")).toHaveLength(1);
  }, 180_000);
});

// Clients set a content type on every request, even without a body.
test("a run is paused by a client, and continues after a request without a body", async () => {
  const json = { "content-type": "application/json" };
  const chapters = Array.from({ length: 40 }, (_n, n) => n);
  const runID = await running.run({ workflowName: "story", params: { chapters } });
  for (const request of [
    {},
    { headers: json },
    { headers: json, body: "" },
    { headers: json, body: "{}" },
  ]) {
    await serving.ok(`/workflow/${runID}/pause`, {});
    await running.until(runID, "paused");
    const path = `/workflow/${runID}/resume`;
    const resumed = await serving.fetch(path, { method: "POST", ...request });
    expect([resumed.status, await resumed.json()]).toEqual([200, { runID, status: "running" }]);
  }
  await serving.ok(`/workflow/${runID}/abort`, {});
}, 180_000);
