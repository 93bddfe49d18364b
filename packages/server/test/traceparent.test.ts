import { afterAll, beforeAll, expect, test } from "bun:test";
import { graphOf, start } from "./graph-client.ts";
import { closeClients, handlerOf, McpClient } from "./mcp-client.ts";
import { Serving, stopServing } from "./serving.ts";

/* The start record of a thread contains the trace context of the caller. */

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const workflow = {
  ...{ version: "3.18", name: "sets", registry: { vars: ["$a(INT)"] } },
  steps: [{ id: "Set_A", target: "$a", value: "=1", next: "RETURN" }],
};

let serving: Serving;
beforeAll(async () => {
  serving = await Serving.start("counter");
  await serving.add("sets", JSON.stringify(workflow), "sets.json");
});
afterAll(async () => {
  await closeClients();
  await stopServing();
});

async function recorded(id: string): Promise<string | undefined> {
  const { host } = serving;
  const ref = await host.find(id);
  for await (const item of host.observe(ref, undefined, { until: "now" }))
    if (item.kind === "start") return item.start.traceparent;
  return undefined;
}

/** Sends a request with the header, and expects the context in the record of the new thread. */
async function expectRecorded(path: string, body: object): Promise<string> {
  const headers = { "Content-Type": "application/json", traceparent };
  const reply = await serving.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = (await reply.json()) as { threadId?: string; runID?: string; runId?: string };
  const id = answer.threadId ?? answer.runID ?? answer.runId ?? "";
  expect({ path, answer, recorded: await recorded(id) }).toMatchObject({ recorded: traceparent });
  return id;
}

test("the API records the trace context of a start, a fork and a retry", async () => {
  const id = await expectRecorded("/api/threads", { workflow: "counter", maxRounds: 2 });
  await serving.until(id, "completed");
  await expectRecorded(`/api/threads/${id}/fork`, {});
  await expectRecorded(`/api/threads/${id}/retry`, { maxRounds: 5 });
  expect(await recorded(await serving.run("counter"))).toBeUndefined();
});

test("the documented APIs record the trace context of runs of step workflows and of graphs", async () => {
  const runID = await expectRecorded("/workflow/run", { workflowName: "sets" });
  await serving.until(runID, "completed");
  const checkpoint = await serving.ok<object>(`/workflow/${runID}/checkpoint`);
  await expectRecorded("/workflow/rerun", { workflowName: "sets", checkpoint, stepID: "Set_A" });
  const runId = await expectRecorded("/api/run", { graph: graphOf([start("tea")]) });
  await expectRecorded("/api/retry", { runId, nodeId: "s" });
});

test("the MCP tools start_thread, fork_thread and retry_thread record the trace context", async () => {
  const client = await McpClient.connect(handlerOf(serving));
  const call = async (name: string, args: Record<string, unknown>, meta: object) => {
    const { structuredContent } = await client.client.callTool({
      ...{ name, arguments: { ...args, wait: 60 }, _meta: { ...meta } },
    });
    return String((structuredContent as { threadId?: string }).threadId);
  };
  const threadId = await call(
    "start_thread",
    { workflow: "counter", maxRounds: 2 },
    { traceparent },
  );
  const forked = await call("fork_thread", { threadId }, { traceparent });
  const retried = await call("retry_thread", { threadId, maxRounds: 5 }, { traceparent });
  for (const id of [threadId, forked, retried]) expect(await recorded(id)).toBe(traceparent);
  const without = await call("start_thread", { workflow: "counter" }, { traceparent: 7 });
  expect(await recorded(without)).toBeUndefined();
});
