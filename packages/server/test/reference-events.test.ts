import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import { defaultAdapters } from "../../workflow-steps/src/entry/adapters.ts";
import { Engine, type RunEvent, type WorkflowDocument } from "@uncaged/workflow-steps";
import type { EventRecord } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { RunSnapshot } from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";

/*
 * Checks that each event has exactly the keys of the table in section 3.1 of the documented API: in the engine, in the
 * debug log and on the stream of a run. The file of the table is a verbatim copy.
 */
const table = new Map(
  readFileSync(join(import.meta.dir, "documented/events.md"), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, type, keys] = /^\| \W*`(\w+)`.* \| `\{ (.*) \}` \|$/.exec(line) ?? [];
      return type !== undefined && keys !== undefined ? [[type, keys.split(", ")] as const] : [];
    }),
);

const model = "claude-opus-4-6";
const vars = ["$a(STRING)", "$b(OBJECT)", "$c(OBJECT)", "$e(OBJECT)"];
const doc = (name: string, steps: WorkflowDocument["steps"]): WorkflowDocument => ({
  ...{ version: "3.18", name, registry: { params: ["goal(STRING) = tea"], vars }, steps },
});
const leaf = doc("leaf", [{ id: "Set_L", target: "$a", value: "leaf", next: "RETURN" }]);

const every = doc("every", [
  { id: "Noop_Skipped", if: "goal == ''", next: "Set_A" },
  { id: "Set_A", target: "$a", value: "=goal", print: "=$a", next: "LLM_A" },
  {
    id: "LLM_A",
    ...{ model, stream: true },
    in: { prompt: "=goal", tools: ["ReadFile"] },
    out: { $a: "=_result", "/out/a.txt": "=_result" },
    next: "Fork_A",
  },
  { id: "Fork_A", children: ["Loop_A"], next: "Branch_A" },
  { id: "Loop_A", source: [1, 2], children: ["Write_A"], next: "RETURN" },
  { id: "Write_A", target: "/out/{_item}.txt", value: "=_item", next: "RETURN" },
  { id: "Branch_A", cases: [["true", "Tool_ReadFile"]], next: "Subflow_A" },
  {
    id: "Tool_ReadFile",
    ...{ input: { file_path: "none.txt" }, allowError: true, out: { $b: "=_result" } },
    next: "RETURN",
  },
  {
    id: "Subflow_A",
    in: { workflow_path: "leaf.json" },
    out: { $c: "=_result.status" },
    next: "LLM_B",
  },
  { id: "LLM_B", model: "no-such-model", in: { prompt: "x" }, onError: "Set_E", next: "Set_E" },
  { id: "Set_E", target: "$e", value: "=_error.type", next: "Pause_A" },
  { id: "Pause_A", reason: "well?", resumeResultTarget: "$b", next: "Pause_B" },
  {
    id: "Pause_B",
    ...{ resumeResultTarget: "$c", timeout: { sec: 1, on: "Stop_Late" } },
    next: "Stop_Late",
  },
  { id: "Stop_Late", reason: "late" },
]);
const failing = doc("failing", [{ id: "Set_M", target: "$e", value: "=1 / 0", next: "RETURN" }]);
const held = doc("held", [{ id: "Pause_A", resumeResultTarget: "$b", next: "RETURN" }]);

let serving: Serving;
let env: Record<string, string>;
let stopModel: () => Promise<unknown>;

beforeAll(async () => {
  const server = await anthropicServer(({ messages }) =>
    JSON.stringify(messages).includes("tool_result")
      ? { thinking: "so", text: "done" }
      : { thinking: "hm", text: "I look", tools: [{ name: "ReadFile", input: { path: "a.txt" } }] },
  );
  stopModel = () => server.stop();
  env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  serving = await Serving.startWith(env);
  mkdirSync(join(serving.folder, "out"));
  writeFileSync(join(serving.folder, "a.txt"), "tea");
  writeFileSync(join(serving.folder, "leaf.json"), JSON.stringify(leaf));
}, 180_000);
afterAll(async () => {
  await stopServing();
  await stopModel();
}, 180_000);

type Event = { type: string; stepID: string | null; payload: Record<string, unknown> };

/** Returns the engine's events of a run. A Pause without a timeout gets a wrong answer first. */
async function inEngine(document: WorkflowDocument, abort = false): Promise<Event[]> {
  const events: RunEvent[] = [];
  const cwd = serving.folder;
  const engine = new Engine(document, {
    subflows: { "leaf.json": leaf },
    onEvent: (event) => void events.push(event),
  });
  const context = engine.start({}, defaultAdapters({ options: { cwd, env } }));
  context.onEvent(({ type, payload }) => {
    if (type !== "pause_start") return;
    if (abort) return context.abort();
    if (payload.expireAt !== null) return;
    void context.resume({ token: "wrong" });
    void context.resume({ token: String(payload.waitToken), payload: { ok: true } });
  });
  for (;;) {
    await context.done.catch(() => undefined);
    if (context.status !== "paused") return events;
  }
}

/** Runs the same workflow as a thread. Returns the events of its stream and of its debug log. */
async function inThread(
  workflow: WorkflowDocument,
  abort = false,
): Promise<{ runID: string; sent: Sent[]; logged: Event[] }> {
  const { runID } = await serving.ok<{ runID: string }>("/workflow/run", {
    ...{ workflow, clientRunToken: "mine" },
  });
  const following = follow(serving, `/workflow/${runID}/events`);
  const status = () => serving.ok<RunSnapshot>(`/workflow/${runID}/status`);
  await until(async () => (await status()).status !== "running");
  const { paused } = await status();
  if (abort) await serving.ok(`/workflow/${runID}/abort`, {});
  else if (paused) {
    await serving.ask(`/workflow/${runID}/resume`, { token: "wrong", payload: 1 });
    const answer = { token: paused.token, payload: { ok: true } };
    await serving.ok(`/workflow/${runID}/resume`, answer);
  }
  const sent = await following;
  const logged: Event[] = [];
  for await (const { record } of serving.host.log(await serving.host.find(runID))) {
    const { type, stepID, payload } = record as EventRecord;
    if (table.has(type)) logged.push({ type, stepID, payload });
  }
  return { runID, sent, logged };
}

const typesOf = (events: Event[]): string[] =>
  [...new Set(events.map(({ type }) => type))].toSorted();

/** Returns the keys of events that differ from the table, as `type: keys`. */
function strangers(events: Event[], more: (type: string) => string[] = () => []): string[] {
  return events.flatMap(({ type, payload }) => {
    const documented = [...(table.get(type) ?? []), ...more(type)];
    const keys = Object.keys(payload);
    const isMissing = documented.some((key) => !key.endsWith("?") && !keys.includes(key));
    const allowed = documented.map((key) => key.replace("?", ""));
    const isMore = keys.some((key) => !allowed.includes(key));
    return isMissing || isMore ? [`${type}: ${keys.join(" ")}`] : [];
  });
}

test("the table has 26 types", () => {
  expect(table.size).toBe(26);
});

test("each event has the keys of the table, in the engine, the log and the stream", async () => {
  const runs = [every, failing].map((flow) => [flow, false] as const);
  const inEach: Record<"engine" | "log" | "stream", Event[]> = { engine: [], log: [], stream: [] };
  for (const [flow, abort] of [...runs, [held, true] as const]) {
    const engine = await inEngine(flow, abort);
    const { runID, sent, logged } = await inThread(flow, abort);
    const streamed = sent.map(({ name: type, data: { stepID, ...payload } }): Event => {
      expect(stepID === null || typeof stepID === "string").toBe(true);
      if (type.startsWith("tool_")) {
        expect(payload).toMatchObject({ runID, clientRunToken: "mine" });
        delete payload.runID;
        delete payload.clientRunToken;
      }
      return { type, stepID: stepID as string | null, payload };
    });
    inEach.engine.push(...engine);
    inEach.log.push(...logged);
    inEach.stream.push(...streamed);
    // The stream matches the log, except for the last event of a cancelled run.
    expect(streamed.filter(({ type }) => type !== "workflow_cancelled")).toEqual(logged);
  }
  for (const [place, events] of Object.entries(inEach)) {
    expect({ place, strangers: strangers(events) }).toEqual({ place, strangers: [] });
  }
  const types = [...table.keys()].sort();
  expect(typesOf(inEach.engine)).toEqual(types);
  expect(typesOf(inEach.stream)).toEqual(types);
  // A killed thread has no event in the log. Only its status shows the kill.
  const recorded = types.filter((type) => type !== "workflow_cancelled");
  expect(typesOf(inEach.log)).toEqual(recorded);
  for (const type of ["file_start", "file_done"]) {
    const paths = (events: Event[]) =>
      events.flatMap((one) => (one.type === type ? [one.payload.path] : []));
    expect(paths(inEach.stream)).toEqual(["out/a.txt", "out/1.txt", "out/2.txt"]);
    expect(paths(inEach.engine)).toEqual(["out/a.txt", "out/1.txt", "out/2.txt"]);
  }
}, 180_000);
