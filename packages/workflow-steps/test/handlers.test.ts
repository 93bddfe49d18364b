import { expect, test } from "bun:test";
import {
  applyOutputMapping,
  ChildExecutionContext,
  Engine,
  emitEvent,
  ExecutionContext,
  type StepDocument,
} from "../src/entry/index.ts";
import { flow, held, ran, settled, trial } from "./ran.ts";

const vars = ["$a(INT)", "$b(INT)", "$e(OBJECT)"];

const working = (more: Partial<StepDocument> = {}, steps: StepDocument[] = []) =>
  flow([{ id: "Work_A", next: "Stop_A", ...more }, ...steps, { id: "Stop_A" }], { vars });

test("a handler receives its engine, a context and its step, and its value is _result", async () => {
  const document = working({ in: { x: "=1 + 1" }, out: { $a: "=_result * 2" } });
  let seen: unknown[] = [];
  const engine = new Engine(document, {
    customHandlers: {
      Work: async (own, context, step) => {
        seen = [own === engine, context instanceof ExecutionContext, step.id];
        return (context.resolve(step.in) as { x: number }).x + 1;
      },
    },
  });
  expect(engine.validate()).toEqual([]);
  const context = await engine.execute();
  expect(seen).toEqual([true, true, "Work_A"]);
  expect(context.snapshot().variables.$a).toBe(6);
  const { payloads } = await ran(document, { work: { Work_A: () => 1 } });
  expect(payloads("step_start", "Work_A")).toMatchObject([{ resolvedInputs: { x: 2 } }]);
});

test("a handler of Tool runs the Tool steps after the usual preparations", async () => {
  const document = flow(
    [
      { id: "Set_A", target: "$a", value: 1, next: "Tool_Lookup" },
      { id: "Tool_Lookup", input: { of: "=$a" }, out: { $b: "=_result" }, next: "Stop_A" },
      { id: "Stop_A" },
    ],
    { vars },
  );
  let done: string[] = [];
  const { variables } = await ran(document, {
    customHandlers: {
      Tool: (_engine, context, step) => {
        done = context._completedSteps;
        return (context.resolve(step.input) as { of: number }).of + 1;
      },
    },
  });
  expect(variables.$b).toBe(2);
  expect(done).toEqual(["Set_A"]);
});

test("a prefix without a handler is an error", () => {
  expect(new Engine(working()).validate()).toEqual([expect.stringMatching(/^Work_A: .*Work/)]);
});

test("outputs that a handler maps itself are not mapped again", async () => {
  let maps = 0;
  const document = working({ out: { $a: "=$a + _result" } });
  const { variables, of } = await ran(document, {
    work: {
      Work_A: async (context) => {
        maps += 1;
        const [step] = document.steps;
        if (step && context instanceof ChildExecutionContext) {
          await applyOutputMapping(context, step, 5);
        }
        return 100;
      },
    },
  });
  expect([maps, variables.$a]).toEqual([1, 5]);
  expect(of("Work_A")).toBe("step_start var_changed step_done");
});

test("a handler may publish events in its step", async () => {
  const { of, events } = await ran(working(), {
    work: {
      Work_A: (context) => {
        emitEvent(context, "tool_message", "Work_A", { message: "half" });
        context.emit("tool_message", "Work_A", { message: "done" });
      },
    },
  });
  expect(of("Work_A")).toBe("step_start tool_message tool_message step_done");
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
});

test("values that a handler sets before it fails are kept and in the checkpoint of the step that handles the failure", async () => {
  const document = working({ onError: "Set_E" }, [
    { id: "Set_E", target: "$e", value: "=_error", next: "Stop_A" },
  ]);
  const { variables, checkpoints, of, status } = await ran(document, {
    work: {
      Work_A: (context) => {
        context.set(["$a"], 7, "Work_A");
        throw new Error("no");
      },
    },
  });
  expect([status, variables.$a]).toEqual(["stopped", 7]);
  expect(variables.$e).toMatchObject({ message: "no", stepID: "Work_A", retryable: false });
  expect(of("Work_A")).toBe("step_start var_changed step_error");
  expect(checkpoints[0]).toMatchObject({ completedSteps: ["Set_E"], variables: { $a: 7 } });
});

test("_error is readable only in the step that handles the failure", async () => {
  const document = working({ onError: "Set_E" }, [
    { id: "Set_E", target: "$e", value: "=_error.message", next: "Set_F" },
    { id: "Set_F", target: "$b", value: "=_error == null", next: "Stop_A" },
  ]);
  const { variables } = await ran(document, {
    work: {
      Work_A: () => {
        throw new Error("no");
      },
    },
  });
  expect(variables).toMatchObject({ $e: "no", $b: true });
});

test("a step that handles a failure can have its own onError", async () => {
  const document = working({ onError: "Work_B" }, [
    { id: "Work_B", onError: "Set_E", next: "Stop_A" },
    { id: "Set_E", target: "$e", value: "=_error", next: "Stop_A" },
  ]);
  const fail = (message: string) => () => {
    throw new Error(message);
  };
  const { variables, status } = await ran(document, {
    work: { Work_A: fail("first"), Work_B: fail("second") },
  });
  expect([status, variables.$e]).toMatchObject([
    "stopped",
    { message: "second", stepID: "Work_B" },
  ]);
});

test("_result is not available after its step", async () => {
  const document = working({ next: "Set_E" }, [
    { id: "Set_E", target: "$a", value: "=_result == null && _meta == null", next: "Stop_A" },
  ]);
  const { variables, context } = await ran(document, { work: { Work_A: () => 1 } });
  expect(variables.$a).toBe(true);
  expect(context.snapshot().localVars).toEqual({});
});

test("writes of a handler after the end of its run are dropped", async () => {
  const late = held();
  const after = held();
  const { engine, events } = trial(working({ out: { $a: "=_result" } }), {
    work: {
      Work_A: async (context) => {
        await late.promise;
        try {
          context.set(["$b"], 9, "Work_A");
        } finally {
          context.emit("tool_message", "Work_A", {});
          after.resolve();
        }
        return 1;
      },
    },
  });
  const context = engine.start();
  await settled();
  context.abort();
  await context.done;
  const { length } = events;
  late.resolve();
  await after.promise;
  await settled();
  expect(events).toHaveLength(length);
  expect(context.snapshot()).toMatchObject({
    status: "cancelled",
    eventSeq: length,
    variables: { $a: null, $b: null },
  });
});

test("a handler may abort its own run", async () => {
  const { status, events } = await ran(working(), {
    work: { Work_A: (context) => context.abort() },
  });
  expect(status).toBe("cancelled");
  expect(events.map(({ type }) => type)).toEqual([
    "workflow_start",
    "step_start",
    "workflow_cancelled",
  ]);
});

test("a handler can't write an undeclared variable or an inherited property", async () => {
  for (const path of [["$zzz"], ["$e", "__proto__", "x"], ["a"]]) {
    const { error } = await ran(working(), {
      work: { Work_A: (context) => context.set(path, 1, "Work_A") },
    });
    expect(error).toMatchObject({ stepID: "Work_A" });
  }
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});

test("a handler that changes its step affects neither the step's next run nor the engine's workflow", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: [1, 2], children: ["Work_A"], next: "RETURN" },
      { id: "Work_A", in: { list: [1] }, next: "RETURN" },
    ],
    { vars },
  );
  const seen: unknown[] = [];
  const engine = new Engine(document, {
    customHandlers: {
      Work: (_engine, _context, step) => {
        seen.push(structuredClone(step.in));
        step.in = Object.assign(step.in ?? {}, { list: [] });
        step.next = "Nowhere";
      },
    },
  });
  await engine.execute();
  expect(seen).toEqual([{ list: [1] }, { list: [1] }]);
  expect(engine.workflow).toEqual(document);
});
