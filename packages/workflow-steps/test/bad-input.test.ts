import { expect, test } from "bun:test";
import { type Checkpoint, Engine, type StepDocument, stepsBundle } from "../src/entry/index.ts";
import { flow, ran, trial } from "./ran.ts";

const vars = ["$a(INT)", "$o(OBJECT)"];
const registry = { params: ["goal(STRING)", "n(INT) = 3"], vars };
const simple = flow(
  [
    { id: "Set_A", target: "$a", value: "=n", next: "Set_B" },
    { id: "Set_B", target: "$o.x", value: "=goal", next: "Stop_A" },
    { id: "Stop_A" },
  ],
  registry,
);

/** Returns the code of an error thrown before any event. */
async function refused(run: (engine: Engine) => Promise<unknown>, document = simple) {
  const { engine, events } = trial(document);
  const code = await run(engine).then(
    () => "nothing",
    (error: { code?: string }) => error.code,
  );
  expect(events).toEqual([]);
  return code;
}

test("a missing required param is named, before any event", async () => {
  const { engine, events } = trial(simple);
  const failure = engine.execute({ n: 1 });
  expect(failure).rejects.toMatchObject({
    code: "PARAMS_INVALID",
    message: expect.stringContaining("goal"),
  });
  await failure.catch(() => undefined);
  expect(events).toEqual([]);
});

test("an invalid workflow is refused with all its errors, before any event", async () => {
  const document = flow([
    { id: "Set_A", target: "$x", value: 1, next: "Set_Z" },
    { id: "Set_A", target: "$x", value: 1, next: "RETURN" },
  ]);
  const { engine, events } = trial(document);
  expect(engine.validate().length).toBeGreaterThan(2);
  expect(engine.execute()).rejects.toMatchObject({ code: "WORKFLOW_INVALID" });
  expect(engine.executeFrom({ currentStepID: "Set_A" })).rejects.toMatchObject({
    code: "WORKFLOW_INVALID",
  });
  expect(events).toEqual([]);
});

test("a value that is not a workflow is reported without an exception", () => {
  for (const document of [null, undefined, 3, "text", [], {}, { steps: {} }]) {
    const engine = new Engine(document as unknown as typeof simple);
    expect(engine.validate().length).toBeGreaterThan(0);
    expect(() => engine.start()).toThrow(expect.objectContaining({ code: "WORKFLOW_INVALID" }));
  }
});

test("a cycle of skipped steps fails instead of running forever", async () => {
  const document = flow([
    { id: "Noop_S", next: "Noop_A" },
    { id: "Noop_A", if: "false", next: "Noop_A" },
  ]);
  const { error, events } = await ran(document);
  expect(error).toMatchObject({ code: "IDLE_CYCLE" });
  expect(events.at(-1)?.type).toBe("workflow_failed");
});

const good = async (): Promise<Checkpoint> => {
  const { checkpoints } = await ran(simple, { params: { goal: "g" } });
  return checkpoints[0] as Checkpoint;
};

test("an invalid checkpoint is refused before any event", async () => {
  const checkpoint = await good();
  const { variables: _gone, ...half } = checkpoint;
  const text = JSON.stringify(checkpoint);
  const bad: unknown[] = [
    null,
    undefined,
    "text",
    text.slice(0, text.length / 2),
    [],
    {},
    half,
    { ...checkpoint, currentStepID: undefined },
    { ...checkpoint, currentStepID: 3 },
    { ...checkpoint, _type: "other" },
    { ...checkpoint, _version: 3 },
    { ...checkpoint, _version: "2" },
    { ...checkpoint, variables: [] },
    { ...checkpoint, variables: null },
    { ...checkpoint, variables: { $zzz: 1 } },
    { ...checkpoint, completedSteps: ["LLM_Other"] },
    { ...checkpoint, completedSteps: "Set_A" },
    { ...checkpoint, completedBranches: { Noop_Other: ["Set_A"] } },
    { ...checkpoint, completedBranches: { Set_A: "Set_B" } },
    { ...checkpoint, loopProgress: { Set_A: -1 } },
    { ...checkpoint, loopProgress: { Set_A: "3" } },
    { ...checkpoint, eventSeq: -1 },
    { ...checkpoint, eventSeq: "many" },
    { ...checkpoint, workflowID: 3 },
    { ...checkpoint, workflowID: "../x" },
    { ...checkpoint, variables: { $o: { f: () => 1 } } },
    JSON.parse(text.replace('"$o":null', '"__proto__":{"x":1}')),
    JSON.parse(text.replace('"$o":null', '"$o":{"__proto__":{"x":1}}')),
    JSON.parse(text.replace('"localVars":{}', '"localVars":{"__proto__":{"x":1}}')),
    JSON.parse(text.replace('"status"', '"__proto__":{"x":1},"status"')),
  ];
  for (const [index, one] of bad.entries()) {
    const code = await refused((engine) => engine.executeFrom(one as Checkpoint));
    expect([index, code]).toEqual([index, "CHECKPOINT_INVALID"]);
  }
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

test("a checkpoint at an unknown step is refused, and the error names the step", async () => {
  const checkpoint = await good();
  const failure = trial(simple).engine.executeFrom({ ...checkpoint, currentStepID: "Set_Z" });
  expect(failure).rejects.toMatchObject({ message: expect.stringContaining("Set_Z") });
});

test("overrides of unknown names or wrong types are refused before any event", async () => {
  const checkpoint = await good();
  const bad: [Record<string, unknown>, string][] = [
    [{ $zzz: 1 }, "OVERRIDE_UNKNOWN"],
    [{ zzz: 1 }, "OVERRIDE_UNKNOWN"],
    [JSON.parse('{"__proto__": {"x": 1}}'), "OVERRIDE_UNKNOWN"],
    [{ constructor: 1 }, "OVERRIDE_UNKNOWN"],
    [{ goal: 5 }, "PARAMS_INVALID"],
    [{ n: "three" }, "PARAMS_INVALID"],
  ];
  for (const [overrides, code] of bad) {
    expect([
      overrides,
      await refused((engine) => engine.executeFrom(checkpoint, {}, overrides)),
    ]).toEqual([overrides, code]);
  }
  for (const overrides of [[], "text", 3] as unknown as Record<string, unknown>[]) {
    const code = await refused((engine) => engine.executeFrom(checkpoint, {}, overrides));
    expect([overrides, code]).toEqual([overrides, "OVERRIDE_UNKNOWN"]);
  }
});

test("an override with an unstorable value is refused before any event", async () => {
  const checkpoint = await good();
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  for (const value of [() => 1, cyclic, 1n]) {
    const code = await refused((engine) => engine.executeFrom(checkpoint, {}, { $o: value }));
    expect(code).toBe("VALUE_NOT_JSON");
  }
});

test("a prompt with invalid JSON sets only a text param", async () => {
  const steps: StepDocument[] = [
    { id: "Set_A", target: "$o", value: { goal: "=goal", n: "=n" }, next: "RETURN" },
  ];
  const { run } = stepsBundle(flow(steps, registry));
  const variablesOf = async (prompt: string) => {
    const options = { threadId: "01J", signal: new AbortController().signal } as never;
    const { value } = await run({ prompt, steps: [] }, options).next();
    const { meta } = value as unknown as { meta: { variables: { value: unknown }[] } };
    return meta.variables[0]?.value;
  };
  expect(await variablesOf('{"goal": "x", "n": 4}')).toEqual({ goal: "x", n: 4 });
  expect(await variablesOf("plain")).toEqual({ goal: "plain", n: 3 });
  expect(await variablesOf('{"goal": "x"')).toEqual({ goal: '{"goal": "x"', n: 3 });
  expect(variablesOf('{"goal": 3}')).rejects.toMatchObject({ code: "PARAMS_INVALID" });
  expect(variablesOf("")).rejects.toMatchObject({ message: expect.stringContaining("goal") });
  const two = stepsBundle(
    flow([{ id: "Noop_A", next: "RETURN" }], { params: ["a(STRING)", "b(STRING)"] }),
  );
  const options = { threadId: "01J", signal: new AbortController().signal } as never;
  expect(two.run({ prompt: "text", steps: [] }, options).next()).rejects.toMatchObject({
    code: "PARAMS_INVALID",
    message: expect.stringMatching(/a .*missing.*b .*missing/),
  });
});
