import { expect, test } from "bun:test";
import { ParallelError, ParallelExecutor, type StepDocument } from "../src/entry/index.ts";
import { flow, held, ran, settled, trial, until } from "./ran.ts";

const vars = ["$a(INT)", "$b(INT)", "$c(INT)", "$all(ARRAY) = []"];

/** Returns a workflow with a fork of `Work_` steps, followed by a Stop. */
const forked = (children: string[], more: Partial<StepDocument> = {}, steps: StepDocument[] = []) =>
  flow(
    [
      { id: "Fork_A", children, next: "Noop_After", ...more },
      ...children
        .filter((id) => !steps.some((step) => step.id === id))
        .map((id) => ({ id, next: "RETURN" })),
      ...steps,
      { id: "Noop_After", next: "Stop_A" },
      { id: "Stop_A" },
    ],
    { vars },
  );

const fails = (message: string) => () => {
  throw new Error(message);
};

test("the step after a fork runs after its slowest child", async () => {
  const slow = held();
  const { engine, events } = trial(forked(["Work_A", "Work_B"]), {
    work: { Work_A: () => slow.promise },
  });
  const running = engine.start();
  const done = () => events.filter(({ type }) => type === "step_done").map((one) => one.stepID);
  await until(() => done().includes("Work_B"));
  await settled();
  expect(done()).toEqual(["Work_B"]);
  slow.resolve();
  await running.done;
  expect(done()).toEqual(["Work_B", "Work_A", "Fork_A", "Noop_After", "Stop_A"]);
});

test("a failed child ends the run at once, with its id, and aborts its siblings", async () => {
  const late = held();
  const began = held();
  let signalled = false;
  const document = forked(["Work_A", "Tool_B"], {}, [{ id: "Tool_B", out: "$b", next: "RETURN" }]);
  const { error, events, status, of } = await ran(document, {
    work: { Work_A: () => began.promise.then(fails("broken")) },
    adapters: {
      tool: {
        execute: async (_name, _input, { signal }) => {
          signal.addEventListener("abort", () => (signalled = true));
          began.resolve();
          await late.promise;
          return 1;
        },
      },
    },
  });
  expect(error).toMatchObject({ stepID: "Work_A", message: "Work_A: broken" });
  expect([status, signalled]).toEqual(["failed", true]);
  expect(events.at(-1)).toMatchObject({
    type: "workflow_failed",
    stepID: null,
    payload: { error: "broken", failed_step_id: "Work_A" },
  });
  const count = events.length;
  late.resolve();
  await settled();
  expect(events.length).toBe(count);
  expect(of("Tool_B")).toBe("step_start tool_start");
});

test("`continue` drops a failed child, and the run continues", async () => {
  const document = forked(["Work_A", "Set_B"], { errorStrategy: "continue" }, [
    { id: "Set_B", target: "$b", value: 2, next: "RETURN" },
  ]);
  const { status, variables, of } = await ran(document, { work: { Work_A: fails("broken") } });
  expect([status, variables.$b]).toEqual(["stopped", 2]);
  expect(of("Work_A")).toBe("step_start step_error");
  expect(of("Fork_A")).toBe("step_start step_done");
});

test("`collect` waits for all children, then fails with every error and its step", async () => {
  const slow = held();
  const document = forked(["Work_A", "Work_B", "Noop_C", "Work_D"], {}, [
    { id: "Noop_C", next: "Work_C" },
    { id: "Work_C", next: "RETURN" },
  ]);
  const started = ran(document, {
    errorStrategy: "collect",
    work: {
      Work_A: fails("first"),
      Work_B: () => slow.promise.then(fails("second")),
      Work_C: fails("inside"),
    },
  });
  await settled();
  slow.resolve();
  const { error, status, of } = await started;
  expect(status).toBe("failed");
  expect(error).toBeInstanceOf(ParallelError);
  const { errors, message } = error as ParallelError;
  expect(errors.map(({ stepID }) => stepID)).toEqual(["Work_A", "Work_C", "Work_B"]);
  expect(errors.map((one) => (one.error as Error).message)).toEqual(["first", "inside", "second"]);
  expect(message).toContain("Work_A: first; Work_C: inside; Work_B: second");
  expect(error).toMatchObject({ stepID: "Fork_A", ctx: { status: "failed" } });
  expect(of("Work_D")).toBe("step_start step_done");
  expect(of("Noop_After")).toBe("");
});

test("a fork's own strategy wins over the engine's", async () => {
  const document = forked(["Work_A"], { errorStrategy: "continue" });
  const { status } = await ran(document, {
    errorStrategy: "collect",
    work: { Work_A: fails("broken") },
  });
  expect(status).toBe("stopped");
});

test("an outer fork with `continue` drops a failed inner fork with all its chains", async () => {
  const late = held();
  const steps: StepDocument[] = [
    { id: "Fork_B", children: ["Work_A", "Write_B"], next: "RETURN" },
    { id: "Work_A", next: "RETURN" },
    { id: "Write_B", out: { $b: 2, "/b.txt": "b" }, next: "RETURN" },
    { id: "Work_C", next: "RETURN" },
  ];
  const document = forked(["Fork_B", "Work_C"], { errorStrategy: "continue" }, steps);
  const isWriting = held();
  const file = {
    read: async () => "",
    write: async () => {
      isWriting.resolve();
      await late.promise;
      return { size_bytes: 1 };
    },
    exists: async () => false,
    remove: async () => undefined,
    list: async () => [],
  };
  const { context, status, checkpoints } = await ran(document, {
    adapters: { file },
    work: {
      Work_A: () => isWriting.promise.then(fails("broken")),
      Work_C: async () => {
        await isWriting.promise;
        await settled();
        late.resolve();
        await settled();
      },
    },
  });
  expect(status).toBe("stopped");
  expect(context.checkpoint().variables).toEqual(context.snapshot().variables);
  expect(Object.keys(context.checkpoint().artifacts)).toEqual(context.snapshot().artifacts);
  expect(checkpoints.at(-1)?.variables).toEqual(context.snapshot().variables);
});

test("at most maxConcurrency children run at once", async () => {
  let now = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    now += 1;
    most = Math.max(most, now);
    await settled();
    now -= 1;
  };
  const ids = ["Work_A", "Work_B", "Work_C", "Work_D", "Work_E"];
  const of = (all: string[]) => Object.fromEntries(all.map((id) => [id, work]));
  await ran(forked(ids), { maxConcurrency: 2, work: of(ids) });
  expect(most).toBe(2);
  most = 0;
  await ran(forked(ids), { work: of(ids) });
  expect(most).toBe(5);
});

test("a step with children does its own work once, before its children run", async () => {
  const document = flow(
    [
      { id: "Set_A", target: "$a", value: 1, children: ["Set_B", "Set_C"], next: "Stop_A" },
      { id: "Set_B", target: "$b", value: "=$a + 1", next: "RETURN" },
      { id: "Set_C", target: "$c", value: "=$a + 2", next: "RETURN" },
      { id: "Stop_A" },
    ],
    { vars },
  );
  const { variables, of, context } = await ran(document);
  expect(variables).toMatchObject({ $a: 1, $b: 2, $c: 3 });
  expect(of("Set_A")).toBe("step_start var_changed step_done");
  expect(context.checkpoint().completedBranches).toEqual({});
});

test("several entries are an implicit fork", async () => {
  const document = flow(
    [
      { id: "Set_A", target: "$a", value: 1, next: "Set_C" },
      { id: "Set_B", target: "$b", value: 2, next: "RETURN" },
      { id: "Set_C", target: "$c", value: 3, next: "RETURN" },
    ],
    { vars },
  );
  const { status, variables, checkpoints, events } = await ran(document);
  expect([status, variables]).toEqual(["completed", { $a: 1, $b: 2, $c: 3, $all: [] }]);
  expect(checkpoints[0]?.currentStepID).toBe("__entry__");
  expect(checkpoints.some((one) => one.completedBranches.__entry__?.includes("Set_B"))).toBe(true);
  expect(events.at(-1)?.payload).not.toHaveProperty("stop_id");
});

test("a Stop in one child ends the run: the siblings are aborted, and no event follows the end", async () => {
  const late = held();
  const document = forked(["Work_A", "Noop_B", "Set_C"], {}, [
    { id: "Noop_B", next: "Stop_B" },
    { id: "Stop_B", reason: "enough" },
    { id: "Work_A", out: "$a", next: "RETURN" },
    { id: "Set_C", target: "$c", value: 3, next: "RETURN" },
  ]);
  const { context, events, status } = await ran(document, { work: { Work_A: () => late.promise } });
  expect(status).toBe("stopped");
  expect(events.at(-1)).toMatchObject({ type: "workflow_done", payload: { stop_id: "Stop_B" } });
  const count = events.length;
  late.resolve();
  await settled();
  expect(events.length).toBe(count);
  expect(context.snapshot().variables.$a).toBeNull();
});

test("a ParallelExecutor returns results in order, and drops or collects failures", async () => {
  const one = (stepID: string, run: () => Promise<number>) => ({ stepID, run });
  const tasks = [one("a", async () => 1), one("b", fails("no")), one("c", async () => 3)];
  expect(await new ParallelExecutor({ errorStrategy: "continue" }).run(tasks)).toEqual([
    1,
    undefined,
    3,
  ]);
  expect(new ParallelExecutor().run(tasks)).rejects.toThrow("no");
  expect(new ParallelExecutor({ errorStrategy: "collect" }).run(tasks)).rejects.toMatchObject({
    errors: [{ stepID: "b", error: expect.any(Error) }],
  });
});

test("a ParallelExecutor passes an aborted signal to its tasks", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  const seen: boolean[] = [];
  const run = async (inner: AbortSignal): Promise<void> => void seen.push(inner.aborted);
  await new ParallelExecutor({ signal }).run([{ stepID: "a", run }]);
  expect(seen).toEqual([true]);
});
