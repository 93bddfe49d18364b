import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { Running } from "./running.ts";
import type { Serving } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

/* The client of section 9.5 of the documented API, with another port and with the token in its requests. */
const client = readFileSync(join(import.meta.dir, "documented/client.js.txt"), "utf8");

let running: Running;
let serving: Serving;

beforeAll(async () => {
  running = await Running.start();
  ({ serving } = running);
}, 180_000);
afterAll(() => running.stop(), 180_000);

type Shown = { on: string; did: string; given: unknown[] };
type Rerun = (stepID: string, overrides?: object) => Promise<void>;

/** Returns a part of a page that records its calls. */
function part(on: string, shown: Shown[]): object {
  return new Proxy(
    {},
    {
      get:
        (_, did) =>
        (...given: unknown[]) =>
          void shown.push({ on, did: String(did), given }),
    },
  );
}

/** Runs the documented client for a run. */
async function follow(runID: string, workflowName: string) {
  const shown: Shown[] = [];
  const sources: EventSource[] = [];
  const again: string[] = [];
  class Signed extends EventSource {
    constructor(url: string) {
      super(url, {
        fetch: (to, init) =>
          fetch(to, {
            ...init,
            headers: { ...init.headers, Authorization: `Bearer ${serving.token}` },
          }),
      });
      sources.push(this);
    }
  }
  const surroundings = {
    EventSource: Signed,
    fetch: (path: string, init?: RequestInit) => serving.fetch(path, init),
    statusBar: part("statusBar", shown),
    detailLog: part("detailLog", shown),
    mainChat: part("mainChat", shown),
    subscribeToWorkflow: (newRunID: string) => again.push(newRunID),
    runID,
    workflowName,
  };
  const names = Object.keys(surroundings).join(", ");
  const code = client.replace(":9160", `:${serving.port}`);
  const module = `export default ({ ${names} }) => {\n${code}\nreturn rerunFromStep;\n};\n`;
  const path = serving.write(`client-${runID}.mjs`, module);
  const { default: begin } = (await import(path)) as { default: (given: object) => Rerun };
  const rerun = begin(surroundings);
  return {
    shown,
    again,
    rerun,
    /** Waits until the page has recorded an action, then ends the connection. */
    async until(did: string): Promise<void> {
      await until(() => shown.some((one) => one.did === did));
      for (const source of sources) source.close();
    },
    given: (did: string): unknown[][] =>
      shown.filter((one) => one.did === did).map(({ given }) => given),
  };
}

test("the documented client shows a run, and runs it again from a step", async () => {
  const runID = await running.run({ workflowName: "writer", params: { topic: "Leaves" } });
  const page = await follow(runID, "writer");
  await page.until("addMessage");
  expect(page.given("addStepCard").map((given) => given.slice(0, 2).join(" "))).toEqual([
    "Set_Style Set",
    "Tool_010_ReadFile Tool",
    "LLM_Write LLM",
    "Write_Out Write",
    "Stop_End Stop",
  ]);
  expect(page.given("addStepCard")[2]?.[2]).toEqual({ title: "Write of the topic" });
  expect(page.given("setStepInputs")).toContainEqual([
    "Tool_010_ReadFile",
    { file_path: "notes.txt" },
  ]);
  expect(page.given("setStepOutputs")).toContainEqual(["LLM_Write", { $text: "about dry" }]);
  const deltas = page.given("appendResponse").map(([, delta]) => delta);
  expect(deltas.join("")).toBe("about dry");
  expect(page.given("appendThinking")[0]?.[0]).toBe("LLM_Write");
  expect(page.given("setLLMStats")[0]?.[1]).toMatchObject({ latencyMs: expect.any(Number) });
  expect(page.given("addVarChange")).toContainEqual(["$text", null, "about dry"]);
  expect(String(page.given("addMessage")[0])).toMatch(/^Workflow completed in \d+\.\ds$/);

  await page.rerun("LLM_Write", { $style: "warm" });
  const [newRunID = ""] = page.again;
  const rest = await follow(newRunID, "writer");
  await rest.until("addMessage");
  expect(rest.given("addStepCard").map(([stepID]) => stepID)).toEqual([
    "LLM_Write",
    "Write_Out",
    "Stop_End",
  ]);
  expect(rest.given("setStepOutputs")).toContainEqual(["LLM_Write", { $text: "about warm" }]);
}, 180_000);

test("the documented client offers to run again from the failed step", async () => {
  const runID = await running.run({ workflowName: "failing" });
  const page = await follow(runID, "failing");
  await page.until("addRerunButton");
  expect(page.given("addRerunButton")).toEqual([["Set_M"]]);
  expect(String(page.given("addMessage")[0])).toStartWith("Workflow failed at Set_M: ");
  await page.rerun("Set_M", { $n: 7 });
  const { variables } = await running.until(page.again[0] ?? "", "completed");
  expect(variables).toEqual({ $n: 7, $m: 2 });
}, 180_000);

test("a client that stays connected after a run's end gets status 204", async () => {
  const runID = await running.run({ workflowName: "failing" });
  const source = new EventSource(`http://127.0.0.1:${serving.port}/workflow/${runID}/events`, {
    fetch: (to, init) =>
      fetch(to, {
        ...init,
        headers: { ...init.headers, Authorization: `Bearer ${serving.token}` },
      }),
  });
  let ends = 0;
  source.addEventListener("workflow_failed", () => (ends += 1));
  await until(() => source.readyState === source.CLOSED);
  expect({ state: source.readyState, ends }).toEqual({ state: source.CLOSED, ends: 1 });
}, 180_000);

test("a stream has the documented headers, and its events have the documented form", async () => {
  const runID = await running.run({ workflowName: "failing" });
  await running.until(runID, "failed");
  const response = await serving.fetch(`/workflow/${runID}/events`);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  expect(response.headers.get("connection")).toBe("keep-alive");
  const blocks = (await response.text()).split("\n\n").filter((block) => block.startsWith("event"));
  expect(blocks.length).toBeGreaterThan(4);
  let before = 0;
  for (const block of blocks) {
    const [event, data, id, ...more] = block.split("\n");
    expect(event).toMatch(/^event: [a-z_]+$/);
    expect(data).toMatch(/^data: \{"stepID":(null|"\w+")[,}]/);
    const seq = Number(/^id: (\d+)$/.exec(id ?? "")?.[1]);
    expect(seq).toBeGreaterThan(before);
    before = seq;
    expect(more).toEqual([]);
  }
});
