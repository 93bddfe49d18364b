import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { failing, writer } from "./flows.ts";
import { Running } from "./running.ts";
import type { Serving } from "./serving.ts";

let running: Running;
let serving: Serving;

beforeAll(async () => {
  running = await Running.start();
  ({ serving } = running);
}, 180_000);
afterAll(() => running.stop(), 180_000);

const eventsPath = (runID: string) => `/workflow/${runID}/events`;

describe("a workflow in the request", () => {
  const own = {
    ...failing,
    name: "own",
    steps: [{ id: "Set_N", target: "$n", value: "=$n + 41" }],
  };

  test("runs without being registered, and can be rerun by its name", async () => {
    const runID = await running.run({ workflow: own });
    const { host } = running.serving;
    expect((await host.row(await host.find(runID)))?.workflow).toBe(own.name);
    expect((await running.until(runID, "completed")).variables).toMatchObject({ $n: 42 });
    const workflows = await serving.ok<{ name: string }[]>("/api/workflows");
    expect(workflows.map(({ name }) => name).toSorted()).toEqual([
      "asking",
      "failing",
      "story",
      "writer",
    ]);
    const again = await running.rerun({
      workflowName: "own",
      checkpoint: await running.checkpoint(runID, "Set_N"),
      stepID: "Set_N",
      overrides: { $n: 1 },
    });
    expect((await running.until(again, "completed")).variables).toMatchObject({ $n: 42 });
  });

  test("validates a child workflow in the server's folder or of a registered name, and refuses other paths", async () => {
    const child = { ...own, name: "child" };
    writeFileSync(join(serving.folder, "child.json"), JSON.stringify(child));
    for (const workflow_path of ["/child.json", "story"]) {
      const input = { workflow_path, mode: "validate" };
      const steps = [{ id: "Tool_WorkflowRun", input, out: "$n", next: "RETURN" }];
      const registry = { vars: ["$n(OBJECT)"] };
      const runID = await running.run({ workflow: { ...own, registry, steps } });
      expect((await running.until(runID, "completed")).variables.$n).toMatchObject({ valid: true });
    }
    for (const workflow_path of ["../child.json", "missing.json", "/etc/hostname"]) {
      const steps = [{ id: "Tool_WorkflowRun", input: { workflow_path }, next: "RETURN" }];
      const refused = await running.post("run", { workflow: { ...own, steps } });
      expect(refused).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining("can't read") },
      });
    }
  }, 180_000);

  test("is refused with all its errors", async () => {
    const steps = [{ id: "Set_A", target: "$none", value: 1, next: "Set_B" }];
    const { status, body } = await running.post("run", { workflow: { ...own, steps } });
    expect(status).toBe(400);
    expect(body.messages?.length).toBeGreaterThan(1);
    for (const message of body.messages ?? []) expect(message).toStartWith("Set_A");
    expect(body.error).toStartWith("Set_A");
  });
});

describe("a changed checkpoint", () => {
  test("starts a run, and a changed checkpoint takes precedence over its run", async () => {
    const source = await running.run({ workflowName: "failing" });
    await running.until(source, "failed");
    const checkpoint = { ...(await running.checkpoint(source)), variables: { $n: 12, $m: null } };
    const rerun = { workflowName: "failing", checkpoint };
    const runID = await running.rerun(rerun);
    expect((await running.until(runID, "completed")).variables).toEqual({ $n: 12, $m: 1 });
  });
});

describe("a request is refused", () => {
  const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

  test("for an unknown run, with the documented text", async () => {
    for (const what of ["status", "variables", "artifacts"]) {
      const { status, body } = await serving.ask<object>(`/workflow/${nobody}/${what}`);
      expect({ status, body }).toEqual({ status: 404, body: { error: "not found" } });
    }
    for (const verb of ["abort", "pause", "resume"]) {
      expect(await running.post(`${nobody}/${verb}`)).toEqual({
        status: 404,
        body: { error: "not found" },
      });
    }
    const none = { status: 404, body: { error: "no checkpoint" } };
    expect(await serving.ask<object>(`/workflow/${nobody}/checkpoint`)).toEqual(none);
    const known = await running.run({ workflowName: "asking" });
    expect(await serving.ask<object>(`/workflow/${known}/checkpoint?before=Set_X`)).toEqual(none);
    const response = await serving.fetch(eventsPath(nobody));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toBe("");
  });

  test("with an invalid workflow or invalid params", async () => {
    expect((await running.post("run", { workflowName: "nothing" })).status).toBe(404);
    expect((await running.post("run", {})).status).toBe(400);
    expect((await running.post("run", { workflowName: "writer", workflow: writer })).status).toBe(
      400,
    );
    const missing = await running.post("run", {
      workflowName: "writer",
      params: { tone: 5, other: 1 },
    });
    expect(missing.status).toBe(400);
    expect(missing.body.messages).toHaveLength(3);
    const list = await running.post("run", { workflowName: "writer", params: [1] });
    expect(list.status).toBe(400);
  });

  test("with a checkpoint that can't be continued", async () => {
    const runID = await running.run({ workflowName: "failing" });
    await running.until(runID, "failed");
    const checkpoint = await running.checkpoint(runID);
    const rerun = async (more: object, from: object = checkpoint) =>
      (await running.post("rerun", { workflowName: "failing", checkpoint: from, ...more })).status;
    expect(await rerun({ workflowName: "nothing" })).toBe(404);
    expect(await rerun({ stepID: "Set_X" })).toBe(400);
    expect(await rerun({ overrides: { $x: 1 } })).toBe(400);
    expect(await rerun({}, { ...checkpoint, _version: 3 })).toBe(400);
    expect(await rerun({}, { ...checkpoint, currentStepID: "Set_X" })).toBe(400);
    expect(await rerun({ workflowName: "writer" })).toBe(400);
    expect(await rerun({}, { params: {} })).toBe(400);
    const half = await serving.fetch("/workflow/rerun", {
      method: "POST",
      body: JSON.stringify({ checkpoint }).slice(0, 40),
      headers: { "Content-Type": "application/json" },
    });
    expect(half.status).toBe(400);
    const threads = await serving.ok<object[]>("/api/threads?workflow=failing&limit=1000");
    expect(threads.filter((row) => "forkFrom" in row)).toEqual([]);
  });
});

test("a thread of another kind of workflow is not a run", async () => {
  await serving.add("greet", greet);
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", {
    workflow: "greet",
  });
  expect((await serving.ask(`/workflow/${threadId}/status`)).status).toBe(404);
  expect((await serving.ask(`/workflow/${threadId}/checkpoint`)).status).toBe(404);
  expect(await running.events(threadId)).toEqual([]);
});

const greet = `export const descriptor = { description: "Greets.", roles: {} };
export async function* run() {
  yield { role: "greeter", content: "hello", meta: {} };
  return { returnCode: 0, summary: "greeted" };
}
`;
