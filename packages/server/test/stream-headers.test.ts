import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { ApiDescription } from "./api-document.ts";
import { approval, graphOf, start } from "./graph-client.ts";
import { ServingProcess, stopServing } from "./serving.ts";
import { eventsOf } from "./sse.ts";

/* A proxy such as nginx buffers a stream unless the stream's headers forbid that. */

setDefaultTimeout(180_000);

let model: Awaited<ReturnType<typeof anthropicServer>>;
let serving: ServingProcess;

beforeAll(async () => {
  const endless = { text: "Let me think. ".repeat(20), fault: { kind: "silence", after: 12 } };
  model = await anthropicServer(() => endless as never);
  serving = await ServingProcess.startWith(
    { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url },
    "endless",
  );
}, 180_000);
afterAll(async () => {
  await stopServing();
  await model.stop();
}, 180_000);

const opened = new Map<string, Response>();

/** Opens the stream of a route such as `GET /api/threads/{id}/events`, with `id` in its path. */
async function open(route: string, body?: object, id = "nonesuch"): Promise<Response> {
  const [method = "", path = ""] = route.split(" ");
  const response = await serving.fetch(path.replace(/\{\w+\}/, id), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  opened.set(route, response);
  return response;
}

async function first(response: Response): Promise<Record<string, unknown>> {
  for await (const { data } of eventsOf(response)) return data;
  throw new Error("the stream is empty");
}

const flow = {
  ...{ version: "3.17", name: "still", registry: { params: [], vars: ["$a(OBJECT)"] } },
  steps: [{ id: "Pause_A", reason: "wait", resumeResultTarget: "$a", next: "RETURN" }],
};

test("every stream of the API tells proxies not to buffer it", async () => {
  const { paths } = await serving.ok<ApiDescription>("/api/openapi.json");
  const streams = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { responses }]) => responses["200"]?.content?.["text/event-stream"])
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  await open("GET /api/events");
  await open("GET /api/plans/events");
  await open("GET /api/threads/{id}/events", undefined, await serving.run("endless"));
  const { session } = await first(await open("POST /api/plans", { text: "look after it" }));
  await open("GET /api/planner/{session}/events", undefined, String(session));
  await open("POST /api/planner/{session}", { text: "yes" });
  await open("POST /api/plans/{id}/modify", { text: "more" });
  const graph = graphOf([start("tea"), approval("ok")], "s ok");
  const { runId } = await serving.ok<{ runId: string }>("/api/run", { graph });
  await open("POST /api/run-stream", { graph });
  await open("GET /api/run/{runId}/events", undefined, runId);
  await open("POST /api/resume-stream", { runId, input: { decision: "approve" } });
  const { runID } = await serving.ok<{ runID: string }>("/workflow/run", { workflow: flow });
  await open("GET /workflow/{runID}/events", undefined, runID);
  expect([...opened.keys()].sort()).toEqual(streams.sort());
  for (const [route, { status, headers }] of opened) {
    const given = ["content-type", "x-accel-buffering"].map((name) => headers.get(name));
    expect([route, status, ...given]).toEqual([route, 200, "text/event-stream", "no"]);
  }
  for (const { body } of opened.values()) await body?.cancel();
});
