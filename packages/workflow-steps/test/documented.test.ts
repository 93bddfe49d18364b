import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as entryPoint from "../src/entry/index.ts";
import { type Adapters, type Checkpoint, Engine, type RunEvent } from "../src/entry/index.ts";
import { flow } from "./ran.ts";

/* The samples of the documented API. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-law-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const vars = ["$plan(OBJECT)", "$meta(OBJECT)", "$code(STRING)"];
const workflow = flow(
  [
    { id: "Set_Init", target: "$meta", value: { project: "=projectName" }, next: "LLM_Analyze" },
    { id: "LLM_Analyze", in: { prompt: "=projectName" }, out: "$plan", next: "LLM_GenerateCode" },
    { id: "LLM_GenerateCode", in: { plan: "=$plan" }, out: "$code", next: "Stop_End" },
    { id: "Stop_End", meta: { title: "Done" } },
  ],
  { params: ["projectName(STRING)"], vars },
);

/** Returns an `llm` adapter that answers with its request, or fails while `isDown` is true. */
function claude() {
  const state = { calls: 0, isDown: false };
  const adapter: NonNullable<Adapters["llm"]> = {
    async call(params) {
      state.calls += 1;
      if (state.isDown) throw new Error("connection lost");
      return { content: `answer to ${JSON.stringify(params.inputs ?? params.messages)}` };
    },
  };
  return { state, adapter };
}

test("quick start", async () => {
  const events: RunEvent[] = [];
  const saved: Checkpoint[] = [];
  const engine = new Engine(workflow, {
    onEvent: (event) => events.push(event),
    onCheckpoint: (cp) => saved.push(cp),
  });
  const errors = engine.validate();
  if (errors.length) throw new Error(errors.join("\n"));
  const ctx = await engine.execute({ projectName: "MyApp" }, { llm: claude().adapter });
  expect(ctx.snapshot()).toMatchObject({ status: "stopped", params: { projectName: "MyApp" } });
  expect(ctx.checkpoint()).toMatchObject({ _version: 2, currentStepID: "RETURN" });
  expect([events.length > 10, saved.length]).toEqual([true, 4]);
});

test("3.7: a listener that is added to the context after execute", async () => {
  const engine = new Engine(
    flow([{ id: "Pause_A", resumeResultTarget: "$plan", next: "RETURN" }], { vars }),
  );
  const ctx = await engine.execute({}, {});
  const heard: string[] = [];
  ctx.onEvent((event) => heard.push(event.type));
  await ctx.resume({ token: ctx.snapshot().paused?.token ?? "", payload: {} });
  await ctx.done;
  expect(heard).toEqual(["var_changed", "pause_resumed", "step_done", "workflow_done"]);
});

test("4.2: a checkpoint on request, and a checkpoint after every step", async () => {
  const engine = new Engine(workflow, {
    onCheckpoint: (cp) => writeFileSync(join(folder, `${cp.workflowID}.json`), JSON.stringify(cp)),
  });
  const ctx = await engine.execute({ projectName: "MyApp" }, { llm: claude().adapter });
  const text = readFileSync(join(folder, `${ctx.workflowID}.json`), "utf8");
  expect({ ...JSON.parse(text), status: "", createdAt: "" }).toEqual({
    ...ctx.checkpoint(),
    status: "",
    createdAt: "",
  });
});

test("4.3 and 4.6: crash recovery from the last checkpoint", async () => {
  const saved: string[] = [];
  const { state, adapter } = claude();
  const crashing = new Engine(workflow, {
    onCheckpoint: (cp) => saved.push(JSON.stringify(cp)),
    onEvent: ({ type, stepID }) => {
      if (type === "step_done" && stepID === "LLM_Analyze") state.isDown = true;
    },
  });
  expect(crashing.execute({ projectName: "MyApp" }, { llm: adapter })).rejects.toMatchObject({
    stepID: "LLM_GenerateCode",
  });
  await crashing.execute({ projectName: "MyApp" }, { llm: adapter }).catch(() => undefined);
  const cp = JSON.parse(saved[1] ?? "") as Checkpoint;
  expect(cp).toMatchObject({
    currentStepID: "LLM_GenerateCode",
    completedSteps: ["Set_Init", "LLM_Analyze"],
  });
  state.isDown = false;
  state.calls = 0;
  const ctx = await new Engine(workflow).executeFrom(cp, { llm: adapter });
  expect([ctx.status, state.calls]).toEqual(["stopped", 1]);
  expect(ctx.checkpoint().completedSteps).toEqual([
    "Set_Init",
    "LLM_Analyze",
    "LLM_GenerateCode",
    "Stop_End",
  ]);
});

test("4.4: a rerun from a step, with a changed variable or from a minimal object", async () => {
  const engine = new Engine(workflow);
  const adapters = { llm: claude().adapter };
  const first = await engine.execute({ projectName: "MyApp" }, adapters);
  const plan = { action: "add-page" };
  const lastCheckpoint = { ...first.checkpoint(), currentStepID: "LLM_GenerateCode" };
  const optionA = await engine.executeFrom(lastCheckpoint, adapters, { $plan: plan });
  const optionB = await engine.executeFrom(
    {
      currentStepID: "LLM_GenerateCode",
      params: { projectName: "MyApp" },
      variables: { $plan: plan, $meta: { project: "MyApp" } },
    },
    adapters,
  );
  for (const ctx of [optionA, optionB]) {
    expect(ctx.snapshot().variables).toEqual({
      $plan: plan,
      $meta: { project: "MyApp" },
      $code: 'answer to {"plan":{"action":"add-page"}}',
    });
  }
});

test("4.7: checkpoints of parallel branches, and a resume that runs the missing branch", async () => {
  const document = flow(
    [
      { id: "Noop_Fork", children: ["Set_A", "Set_B", "Work_C"], next: "RETURN" },
      { id: "Set_A", target: "$plan.a", value: 1, next: "RETURN" },
      { id: "Set_B", target: "$plan.b", value: 2, next: "RETURN" },
      { id: "Work_C", out: { "$plan.c": 3 }, next: "RETURN" },
    ],
    { vars },
  );
  const branches: unknown[] = [];
  let last: Checkpoint | undefined;
  const crashing = new Engine(document, {
    customHandlers: { Work: () => Promise.reject(new Error("crash")) },
    onCheckpoint: (cp) => {
      branches.push(cp.completedBranches);
      last = cp;
    },
  });
  await crashing.execute().catch(() => undefined);
  expect(branches).toEqual([{ Noop_Fork: ["Set_A"] }, { Noop_Fork: ["Set_A", "Set_B"] }]);
  expect(last?.currentStepID).toBe("Noop_Fork");
  const started: unknown[] = [];
  const engine = new Engine(document, {
    customHandlers: { Work: () => null },
    onEvent: ({ type, stepID }) => {
      if (type === "step_start") started.push(stepID);
    },
  });
  const ctx = await engine.executeFrom(last as Checkpoint);
  expect(started).toEqual(["Noop_Fork", "Work_C"]);
  expect(ctx.snapshot().variables.$plan).toEqual({ a: 1, b: 2, c: 3 });
});

test("4.8: resume in the middle of a loop", async () => {
  const document = flow(
    [
      { id: "Loop_Process", source: "=$plan", children: ["Set_Item"], next: "RETURN" },
      { id: "Set_Item", target: "$meta.list[_index]", value: "=_item", next: "RETURN" },
    ],
    { vars },
  );
  const items = Array.from({ length: 100 }, (_, index) => index * 2);
  const ctx = await new Engine(document).executeFrom({
    currentStepID: "Loop_Process",
    loopProgress: { Loop_Process: 60 },
    variables: { $plan: items },
  });
  const { list } = ctx.snapshot().variables.$meta as { list: unknown[] };
  expect(list.slice(0, 60)).toEqual(items.slice(0, 60).map(() => null));
  expect(list.slice(60)).toEqual(items.slice(60));
});

test("5.5: an adapter with all callbacks", async () => {
  const claudeAdapter: NonNullable<Adapters["llm"]> = {
    async call(params, _onToken, callbacks) {
      const content = `${params.system}: ${JSON.stringify(params.messages)}`;
      callbacks?.onThinking?.("let me see");
      callbacks?.onToken?.(content);
      callbacks?.onToolUse?.({ id: "toolu_1", name: "read", input: {} });
      callbacks?.onToolResult?.({ tool_use_id: "toolu_1", content: "{}", is_error: false });
      return {
        content,
        model: params.model || "claude-opus-4-6",
        id: "msg_1",
        finish_reason: "end_turn",
        usage: { input_tokens: 12, output_tokens: 34, thinking_tokens: 5 },
        tool_use: [],
      };
    },
  };
  const types: string[] = [];
  const engine = new Engine(
    flow(
      [
        {
          id: "LLM_A",
          in: { system: "sys", messages: [{ role: "user", content: "=q" }], stream: true },
          out: { $code: "=_result" },
          next: "RETURN",
        },
      ],
      { params: ["q(STRING)"], vars },
    ),
    { onEvent: ({ type }) => types.push(type) },
  );
  const ctx = await engine.execute({ q: "hi" }, { llm: claudeAdapter });
  expect(ctx.llmAdapter).toBe(claudeAdapter);
  expect(ctx.snapshot().variables.$code).toBe('sys: [{"role":"user","content":"hi"}]');
  expect(types.slice(2, -3)).toEqual([
    "llm_thinking",
    "llm_token",
    "llm_tool_use",
    "llm_tool_result",
    "llm_done",
  ]);
});

test("8.1: a broker's rerun", async () => {
  const checkpointStore = new Map<string, Checkpoint>();
  const engine = new Engine(workflow, {
    onCheckpoint: (cp) => checkpointStore.set(cp.workflowID, cp),
  });
  const adapters = { llm: claude().adapter };
  const first = await engine.execute({ projectName: "MyApp" }, adapters);
  const checkpoint = checkpointStore.get(first.workflowID) as Checkpoint;
  checkpoint.currentStepID = "LLM_GenerateCode";
  const ctx = await engine.executeFrom(checkpoint, adapters, { $plan: "p" });
  expect([ctx.workflowID, ctx.status]).toEqual([first.workflowID, "stopped"]);
});

test("10: every documented export exists", () => {
  const documented = `Engine ExpressionEvaluator toBool toFloat Registry parseServiceSignature
    parseVariableDeclaration parseParamDeclaration ParallelExecutor ParallelError WorkflowType
    StepType getStepType ExecutionStatus WriteMode LoopMode ParallelErrorStrategy RunEventType
    SUPPORTED_VERSIONS isV310OrLater LLMError buildErrorMap ExecutionContext ChildExecutionContext
    applyOutputMapping emitEvent stepsBundle fold interpret`;
  const missing = documented.split(/\s+/).filter((name) => !(name in entryPoint));
  expect(missing).toEqual([]);
});

test("10: the constants and small functions behave as documented", () => {
  expect(entryPoint.isV310OrLater("3.9")).toBe(false);
  expect(entryPoint.isV310OrLater("3.10")).toBe(true);
  expect([...entryPoint.SUPPORTED_VERSIONS]).toEqual(
    Array.from({ length: 19 }, (_, minor) => `3.${minor}`),
  );
  expect(entryPoint.getStepType("Check_A")).toBe("Branch");
  expect(entryPoint.getStepType("Fork_A")).toBe("Noop");
  expect(entryPoint.getStepType("Done_A")).toBe("Stop");
  expect(entryPoint.getStepType({ id: "anything", type: "LLM" })).toBe("LLM");
  expect(entryPoint.getStepType("Nope_A")).toBeNull();
  expect(Object.keys(entryPoint.ExecutionStatus).toSorted()).toEqual([
    "cancelled",
    "completed",
    "failed",
    "paused",
    "running",
    "stopped",
  ]);
  expect(["", "false", 0, NaN, null, undefined, false].map(entryPoint.toBool)).not.toContain(true);
  expect(["0", "a", [], {}, 1].map(entryPoint.toBool)).not.toContain(false);
  expect(["1.5", true, "x", null, [], 2].map(entryPoint.toFloat)).toEqual([1.5, 1, 0, 0, 0, 2]);
  expect(
    entryPoint.parseServiceSignature(" Send ( to (STRING) , n(INT) ) RETURN ok (BOOL)"),
  ).toEqual({
    name: "Send",
    params: [
      { name: "to", type: "STRING" },
      { name: "n", type: "INT" },
    ],
    returns: [{ name: "ok", type: "BOOL" }],
  });
  expect(entryPoint.parseVariableDeclaration('$a(STRING) = "x"')).toEqual({
    name: "$a",
    type: "STRING",
    default: "x",
  });
  expect(() => entryPoint.parseParamDeclaration("n INT")).toThrow("n INT");
  expect(entryPoint.buildErrorMap("plain", "Tool_A")).toMatchObject({
    message: "plain",
    stepID: "Tool_A",
    retryable: false,
  });
  const timeout = new entryPoint.LLMError("timeout", "slow", { status: 504 });
  expect(entryPoint.buildErrorMap(timeout, "LLM_A")).toMatchObject({
    type: "timeout",
    retryable: true,
  });
});
