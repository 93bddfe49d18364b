import { expect, test } from "bun:test";
import { Engine, type StepDocument, type WorkflowDocument } from "../src/entry/index.ts";
import { flow, ran, type Trial, trial as trialOf, until } from "./ran.ts";

const vars = ["$run(OBJECT)", "$n(INT) = 0"];
const child: WorkflowDocument = flow(
  [
    { id: "Set_A", target: "$a", value: "=goal + '!'", next: "Write_A" },
    { id: "Write_A", target: "/out/a.txt", value: "=$a", next: "Stop_C" },
    { id: "Stop_C" },
  ],
  { params: ["goal(STRING)"], vars: ["$a(STRING)"] },
);

const parent = (step: Partial<StepDocument> = {}) =>
  flow(
    [
      {
        id: "Subflow_Worker",
        in: { workflow_path: "child.json", params: { goal: "=goal" } },
        out: { $run: "=_result" },
        next: "Stop_P",
        ...step,
      },
      { id: "Stop_P" },
    ],
    { params: ["goal(STRING) = g"], vars },
  );

const file = {
  read: async (): Promise<string> => {
    throw new Error("file not found");
  },
  write: async (_path: string, data: string | Uint8Array) => ({ size_bytes: data.length }),
  exists: async () => false,
  remove: async () => undefined,
  list: async () => [],
};
const trial: Trial = {
  adapters: { file },
  subflows: { "child.json": child },
  params: { goal: "go" },
};

test("a Subflow returns all seven fields of its run", async () => {
  const { variables, context, of } = await ran(parent(), trial);
  const run = variables.$run as Record<string, unknown>;
  expect(Object.keys(run).toSorted()).toEqual([
    "checkpoint",
    "completedSteps",
    "events",
    "filesWritten",
    "runID",
    "status",
    "variables",
  ]);
  expect(run).toMatchObject({
    status: "stopped",
    filesWritten: ["out/a.txt"],
    variables: { $a: "go!" },
    completedSteps: ["Set_A", "Write_A", "Stop_C"],
    checkpoint: { _type: "vl_workflow_checkpoint", _version: 2, variables: { $a: "go!" } },
  });
  expect(context.snapshot().artifacts).toEqual(["out/a.txt"]);
  expect(run.runID).not.toBe(context.runID);
  const events = run.events as { type: string; seq: number }[];
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect([events[0]?.type, events.at(-1)?.type]).toEqual(["workflow_start", "workflow_done"]);
  expect(of("Subflow_Worker")).toMatch(/^step_start tool_start (tool_message )+tool_done/);
});

test("the child's events arrive as tool_message while it runs", async () => {
  const { payloads, variables } = await ran(parent(), trial);
  const { events } = variables.$run as { events: { type: string }[] };
  const messages = payloads("tool_message", "Subflow_Worker");
  expect(messages.map(({ level }) => level)).toEqual(events.map(({ type }) => type));
  expect(messages.every(({ name }) => name === "WorkflowRun")).toBe(true);
});

test("Tool_WorkflowRun and a Tool that names WorkflowRun run in the same way", async () => {
  for (const step of [
    { id: "Tool_WorkflowRun" },
    { id: "Tool_010_RunWorker", tool: "WorkflowRun" },
  ]) {
    const fields = { ...step, in: undefined };
    const input = { mode: "sync", workflow_path: "='child.json'", params: { goal: "=goal" } };
    const { variables } = await ran(parent({ ...fields, input }), trial);
    expect(variables.$run).toMatchObject({ status: "stopped", variables: { $a: "go!" } });
  }
});

test("the child's events omit its tokens", async () => {
  const asking = flow([{ id: "LLM_A", in: { prompt: "x", stream: true }, next: "RETURN" }]);
  const llm = {
    async call(_params: unknown, onToken: (text: string) => void) {
      onToken("t");
      return { content: "c" };
    },
  };
  const { variables, payloads } = await ran(parent({ in: { workflow_path: "child.json" } }), {
    adapters: { llm },
    subflows: { "child.json": asking },
  });
  const { events } = variables.$run as { events: { type: string }[] };
  expect(events.map(({ type }) => type)).toEqual([
    "workflow_start",
    "step_start",
    "llm_done",
    "step_done",
    "workflow_done",
  ]);
  expect(payloads("tool_message").some(({ level }) => level === "llm_token")).toBe(true);
});

test("a timeout ends the child, but does not count the waiting time of its questions", async () => {
  const slow = flow(
    [
      { id: "Pause_A", resumeResultTarget: "$a", next: "Work_A" },
      { id: "Work_A", next: "RETURN" },
    ],
    { vars: ["$a(OBJECT)"] },
  );
  const never = new Promise(() => undefined);
  const { engine } = trialOf(parent({ timeout: 60, in: { workflow_path: "child.json" } }), {
    subflows: { "child.json": slow },
    work: { Work_A: () => never },
  });
  const context = await engine.execute({ goal: "go" });
  const started = performance.now();
  await until(() => performance.now() - started > 100);
  expect(context.status).toBe("paused");
  await context.resume({ token: context.snapshot().paused?.token ?? "", payload: {} });
  expect(context.done).rejects.toThrow("the workflow was stopped after 60 ms");
});

test("mode validate reports the child's errors, and other modes fail", async () => {
  const validated = await ran(
    parent({ in: { workflow_path: "child.json", mode: "validate" } }),
    trial,
  );
  expect(validated.variables.$run).toEqual({ valid: true, errors: [] });
  const other = await ran(parent({ in: { workflow_path: "child.json", mode: "async" } }), trial);
  expect(other.of("Subflow_Worker")).toBe("step_start tool_start tool_error step_error");
});

test("a failed child fails its step with the same error, unless the step allows errors", async () => {
  const failing = flow([{ id: "Noop_A", if: "1 / 0", next: "RETURN" }]);
  const subflows = { "child.json": failing };
  const failed = await ran(parent({ in: { workflow_path: "child.json" } }), { subflows });
  expect(failed.error).toMatchObject({ stepID: "Subflow_Worker" });
  const allowed = await ran(
    parent({
      in: { workflow_path: "child.json" },
      allowError: true,
      out: { $run: "=_toolResult" },
    }),
    { subflows },
  );
  expect(allowed.variables.$run).toMatchObject({ status: "failed", checkpoint: {}, events: {} });
});

test.each([
  [{ workflow_path: "child.json" }, "goal"],
  [{ workflow_path: "child.json", params: { goal: 1 } }, "goal"],
  [{ workflow_path: "missing.json" }, "missing.json"],
  [{ workflow_path: "='' " }, "path"],
])("a Subflow with %j fails with the reason", async (input, said) => {
  const { error } = await ran(parent({ in: input }), trial);
  expect(error).toMatchObject({ message: expect.stringContaining(said) });
});

test("a workflow that runs itself fails at level eight with a clear error", async () => {
  const own = flow([{ id: "Subflow_Own", in: { workflow_path: "own.json" }, next: "RETURN" }]);
  const { error, payloads } = await ran(own, { subflows: { "own.json": own } });
  expect(error).toMatchObject({ message: expect.stringContaining("8 levels deep") });
  expect(payloads("workflow_failed")).toHaveLength(1);
});

test("a Pause in the child pauses the parent, and its answer goes to the child", async () => {
  const asking = flow([{ id: "Pause_C", resumeResultTarget: "$reply", next: "RETURN" }], {
    vars: ["$reply(OBJECT)"],
  });
  const { context } = await ran(parent({ in: { workflow_path: "child.json" } }), {
    subflows: { "child.json": asking },
  });
  expect(context.status).toBe("paused");
  const paused = context.snapshot().paused;
  expect(paused?.nodeID).toBe("Subflow_Worker/Pause_C");
  expect(await context.resume({ token: paused?.token ?? "", payload: { yes: 1 } })).toEqual({
    ok: true,
  });
  await context.done;
  expect(context.snapshot().variables.$run).toMatchObject({ variables: { $reply: { yes: 1 } } });
});

test("an abort reaches the child, which then publishes no events", async () => {
  const hanging = flow([{ id: "Tool_Hang", next: "RETURN" }]);
  const signals: AbortSignal[] = [];
  const abort = new AbortController();
  const running = ran(parent({ in: { workflow_path: "child.json" } }), {
    subflows: { "child.json": hanging },
    signal: abort.signal,
    adapters: {
      tool: {
        execute: (_name, _input, { signal }) => {
          signals.push(signal);
          setTimeout(() => abort.abort());
          return new Promise(() => null);
        },
      },
    },
  });
  const { status, events } = await running;
  expect([status, events.at(-1)?.type]).toEqual(["cancelled", "workflow_cancelled"]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test("a computed path is read when the step runs", async () => {
  const read = async () => JSON.stringify(child);
  const { variables } = await ran(
    parent({ in: { workflow_path: "='other' + '.json'", params: { goal: "=goal" } } }),
    { ...trial, adapters: { file: { ...file, read } } },
  );
  expect(variables.$run).toMatchObject({ variables: { $a: "go!" } });
  expect(new Engine(parent()).validate()).toEqual([]);
});
