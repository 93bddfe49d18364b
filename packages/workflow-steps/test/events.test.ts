import { expect, test } from "bun:test";
import { Engine, type RunEvent } from "../src/entry/index.ts";
import { flow, ran, settled, trial } from "./ran.ts";

const vars = ["$a(INT)", "$b(OBJECT)"];
const setting = flow(
  [
    { id: "Set_A", meta: { title: "First" }, target: "$a", value: 1, next: "Set_B" },
    { id: "Set_B", target: "$b.x", value: "=$a", next: "Stop_A" },
    { id: "Stop_A" },
  ],
  { params: ["goal(STRING) = g"], vars },
);

test("a run publishes its events in order, with the documented payloads", async () => {
  const { events, context } = await ran(setting, { clientRunToken: "client:1" });
  expect(events.map(({ type, stepID, payload }) => [type, stepID, payload])).toEqual([
    ["workflow_start", null, { name: "flow", version: "3.18", params: { goal: "g" } }],
    [
      "step_start",
      "Set_A",
      { type: "Set", meta: { title: "First" }, resolvedInputs: { target: "$a", value: 1 } },
    ],
    ["var_changed", "Set_A", { name: "$a", oldValue: null, newValue: 1 }],
    ["step_done", "Set_A", { outputs: null }],
    [
      "step_start",
      "Set_B",
      { type: "Set", meta: null, resolvedInputs: { target: "$b.x", value: 1 } },
    ],
    ["var_changed", "Set_B", { name: "$b", oldValue: null, newValue: { x: 1 } }],
    ["step_done", "Set_B", { outputs: null }],
    ["step_start", "Stop_A", { type: "Stop", meta: null, resolvedInputs: null }],
    ["step_done", "Stop_A", { outputs: null }],
    ["workflow_done", null, { duration_ms: expect.any(Number), stop_id: "Stop_A" }],
  ]);
  for (const [index, event] of events.entries()) {
    expect(event).toMatchObject({
      seq: index + 1,
      ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      runID: context.runID,
      clientRunToken: "client:1",
    });
  }
  expect(context.runID).toMatch(/^wf_\d+$/);
});

test("an event has every documented key, even for a value that JSON cannot represent", async () => {
  const doc = flow(
    [
      { id: "Set_A", target: "$b", value: {}, print: "=$b.none", next: "Odd_B" },
      { id: "Odd_B", print: "=_result", next: "Tool_C" },
      { id: "Tool_C", tool: "odd", next: "RETURN" },
    ],
    { vars },
  );
  const odd = {
    execute: (_: unknown, runtime: { info: (message?: unknown, data?: unknown) => void }) => {
      runtime.info(undefined, undefined);
      runtime.info("half", () => 1);
      return { result: 1 };
    },
  };
  const customHandlers = { Odd: () => 10n };
  const { events } = await ran(doc, { customHandlers, tools: { odd } } as never);
  const written = JSON.parse(JSON.stringify(events)) as RunEvent[];
  const payloadsOf = (type: string) =>
    written.flatMap((event) => (event.type === type ? [event.payload] : []));
  expect(payloadsOf("step_print")).toEqual([{ value: null }, { value: null }]);
  expect(payloadsOf("tool_message")).toEqual([
    { name: "odd", level: "info", message: null, data: null },
    { name: "odd", level: "info", message: "half", data: null },
  ]);
});

test("without a clientRunToken, events have no token", async () => {
  const { events } = await ran(setting);
  expect(events.every((event) => !("clientRunToken" in event))).toBe(true);
});

test("two runs never have the same id", async () => {
  const engine = new Engine(setting);
  const all = await Promise.all([1, 2, 3].map(() => engine.execute()));
  expect(new Set(all.map(({ runID }) => runID)).size).toBe(3);
});

test("writing a variable's current value publishes no event", async () => {
  const { payloads } = await ran(
    flow(
      [
        { id: "Set_A", target: "$b", value: { x: [1] }, next: "Set_B" },
        { id: "Set_B", target: "$b", value: { x: [1] }, next: "RETURN" },
      ],
      { vars },
    ),
  );
  expect(payloads("var_changed")).toHaveLength(1);
});

test("inputs that can't be evaluated are null in the event, and fail the step", async () => {
  const document = flow([{ id: "Service_F", in: { x: "=1 / 0" }, next: "RETURN" }], {
    services: ["F(x(INT))"],
  });
  const { payloads, of } = await ran(document, { adapters: { service: { call: async () => 1 } } });
  expect(payloads("step_start")[0]?.resolvedInputs).toBeNull();
  expect(of("Service_F")).toBe("step_start step_error");
});

test("a listener that throws or rejects has no effect on the run or on other listeners", async () => {
  const { engine, events } = trial(setting, {
    onEvent: () => {
      throw new Error("no");
    },
  });
  const heard: RunEvent[] = [];
  const context = engine.start();
  context.onEvent(() => {
    throw new Error("no");
  });
  context.onEvent(() => Promise.reject(new Error("no")) as unknown as undefined);
  context.onEvent((event) => void heard.push(event));
  await context.done;
  expect(context.status).toBe("stopped");
  expect(heard).toEqual(events);
  expect(heard).toHaveLength(10);
});

test("a slow listener does not delay the run", async () => {
  const { status } = await ran(setting, {
    onEvent: () => new Promise(() => null) as unknown as undefined,
  });
  expect(status).toBe("stopped");
});

test("a listener may remove itself", async () => {
  const heard: string[] = [];
  const { engine } = trial(setting);
  const context = engine.start();
  const stop = context.onEvent(({ type }) => {
    heard.push(type);
    if (type === "step_start") stop();
  });
  await context.done;
  expect(heard).toEqual(["workflow_start", "step_start"]);
  stop();
});

test("a listener added by another listener receives the later events", async () => {
  const heard: string[] = [];
  const { engine } = trial(setting);
  const context = engine.start();
  const stop = context.onEvent(({ type }) => {
    if (type !== "var_changed") return;
    stop();
    context.onEvent((event) => void heard.push(event.type));
  });
  await context.done;
  expect(heard).toEqual([
    "step_done",
    "step_start",
    "var_changed",
    "step_done",
    "step_start",
    "step_done",
    "workflow_done",
  ]);
});

test("a listener may abort the run, and no step starts after that", async () => {
  const { engine, events } = trial(setting);
  const context = engine.start();
  context.onEvent(({ type }) => {
    if (type === "step_done") context.abort();
  });
  await context.done;
  expect(context.status).toBe("cancelled");
  expect(events.at(-1)).toMatchObject({
    type: "workflow_cancelled",
    stepID: null,
    payload: { duration_ms: expect.any(Number) },
  });
  expect(events.filter(({ type }) => type === "step_done")).toHaveLength(1);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
});

test("a run aborted before its first event reports its start and its cancellation", async () => {
  const byCaller = trial(setting);
  const context = byCaller.engine.start();
  context.abort();
  await context.done;
  const bySignal = await ran(setting, { signal: AbortSignal.abort() });
  for (const events of [byCaller.events, bySignal.events]) {
    expect(events.map(({ type }) => type)).toEqual(["workflow_start", "workflow_cancelled"]);
  }
  expect([context.status, bySignal.status]).toEqual(["cancelled", "cancelled"]);
});

test("an abort after the end has no effect", async () => {
  const { context, events } = await ran(setting);
  context.abort();
  await settled();
  expect([context.status, events.length]).toEqual(["stopped", 10]);
});

test("a failed run reports the failure last, and rejects with the step and the context", async () => {
  const document = flow([{ id: "Work_A", next: "RETURN" }]);
  const { error, events, context, of } = await ran(document, {
    work: {
      Work_A: () => {
        throw new Error("out of paper");
      },
    },
  });
  expect(error).toMatchObject({ stepID: "Work_A", ctx: context });
  expect(context.status).toBe("failed");
  expect(of("Work_A")).toBe("step_start step_error");
  expect(events.at(-2)?.payload).toEqual({ error: "out of paper" });
  expect(events.at(-1)).toMatchObject({
    type: "workflow_failed",
    payload: { error: "out of paper", failed_step_id: "Work_A" },
  });
});

test("a snapshot is a copy of the run's current state", async () => {
  const { context, events } = await ran(setting);
  const snapshot = context.snapshot();
  expect(snapshot).toEqual({
    runID: context.runID,
    status: "stopped",
    currentStepID: "Stop_A",
    elapsedMs: expect.any(Number),
    params: { goal: "g" },
    variables: { $a: 1, $b: { x: 1 } },
    localVars: {},
    artifacts: [],
    paused: null,
    eventSeq: events.length,
    version: "3.18",
  });
  snapshot.variables.$a = 9;
  expect(context.snapshot().variables.$a).toBe(1);
});

test("the elapsed time of a finished run does not change", async () => {
  const { context } = await ran(setting);
  const before = context.snapshot().elapsedMs;
  await Bun.sleep(15);
  expect(context.snapshot().elapsedMs).toBe(before);
});

test("a change to a workflow after the creation of its engine does not change the run", async () => {
  const document = structuredClone(setting);
  const { engine } = trial(document);
  const [first] = document.steps;
  if (first) first.value = 99;
  const context = await engine.execute();
  expect(context.snapshot().variables.$a).toBe(1);
});

test("an event has an independent copy of a variable", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: [1, 2, 3], children: ["Set_A"], next: "Set_C" },
      { id: "Set_A", target: "$b.list[_index]", value: { n: "=_item" }, next: "Set_B" },
      { id: "Set_B", target: "$b.list[_index].n", value: "=_item * 10", next: "RETURN" },
      { id: "Set_C", target: "$a", value: "=$b.list.length", next: "RETURN" },
    ],
    { vars },
  );
  const texts: string[] = [];
  const { payloads, variables, checkpoints } = await ran(document, {
    onEvent: ({ type, payload }) =>
      void (type === "var_changed" && texts.push(JSON.stringify(payload))),
  });
  expect(payloads("var_changed").map((payload) => JSON.stringify(payload))).toEqual(texts);
  expect(texts[1]).toBe(
    '{"name":"$b","oldValue":{"list":[{"n":1}]},"newValue":{"list":[{"n":10}]}}',
  );
  expect(variables.$b).toEqual({ list: [{ n: 10 }, { n: 20 }, { n: 30 }] });
  expect(checkpoints[0]?.variables.$b).toEqual({ list: [{ n: 1 }] });
});

test("a listener that changes an event affects neither the run nor other listeners", async () => {
  const document = flow(
    [
      { id: "Set_A", target: "$b", value: { list: [1] }, next: "Set_B" },
      { id: "Set_B", target: "$a", value: "=$b.list.length + list.length", next: "RETURN" },
    ],
    { params: ["list(ARRAY) = [1]"], vars },
  );
  const spoil = (value: unknown): void => {
    if (Array.isArray(value)) value.push("spoiled");
    if (typeof value === "object" && value !== null) Object.values(value).forEach(spoil);
  };
  const { variables, context } = await ran(document, {
    onEvent: ({ payload }) => spoil(payload),
  });
  expect(variables).toEqual({ $a: 2, $b: { list: [1] } });
  expect(context.checkpoint()).toMatchObject({
    params: { list: [1] },
    variables: { $a: 2, $b: { list: [1] } },
  });
});
