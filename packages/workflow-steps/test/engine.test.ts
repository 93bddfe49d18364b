import { expect, test } from "bun:test";
import { type Checkpoint, Engine, type StepDocument } from "../src/index.ts";
import { flow, held, ran, settled, trial, until } from "./ran.ts";

const vars = ["$a(INT)", "$b(INT)", "$list(ARRAY) = []", "$reply(OBJECT)"];

const set = (id: string, target: string, value: unknown, next = "RETURN"): StepDocument => ({
  id,
  target,
  value,
  next,
});

test("runs of one engine at once know nothing of each other", async () => {
  const engine = new Engine(
    flow([{ id: "Work_A", out: "$a", next: "Set_B" }, set("Set_B", "$b", "=$a + n")], {
      params: ["n(INT)"],
      vars,
    }),
    {
      customHandlers: {
        Work: async (_engine, context) => {
          await settled();
          return Number(context.evaluate("=n")) * 10;
        },
      },
    },
  );
  const all = await Promise.all([1, 2, 3].map((n) => engine.execute({ n })));
  expect(all.map((context) => context.snapshot().variables.$b)).toEqual([11, 22, 33]);
});

test("a loop of 10,000 iterations writes one element in each", async () => {
  const document = flow(
    [
      { id: "Loop_A", while: "true", maxIterations: 10_000, children: ["Set_A"], next: "RETURN" },
      set("Set_A", "$list[_index]", "=_index"),
    ],
    { vars },
  );
  let done = 0;
  const engine = new Engine(document, {
    onEvent: ({ type }) => (done += Number(type === "step_done")),
  });
  const context = await engine.execute();
  expect(done).toBe(10_001);
  expect((context.snapshot().variables.$list as number[]).at(-1)).toBe(9999);
});

test("a run is aborted from inside of onCheckpoint", async () => {
  const holder: { abort: () => void } = { abort: () => undefined };
  const { engine, events, checkpoints } = trial(
    flow([set("Set_A", "$a", 1, "Set_B"), set("Set_B", "$b", 2)], { vars }),
    { onCheckpoint: () => holder.abort() },
  );
  const context = engine.start();
  holder.abort = () => context.abort();
  await context.done;
  expect([context.status, events.at(-1)?.type]).toEqual(["cancelled", "workflow_cancelled"]);
  expect(checkpoints).toHaveLength(1);
});

test("a cancelled run is taken up from its last checkpoint", async () => {
  const document = flow(
    [
      set("Set_A", "$a", 1, "Work_B"),
      { id: "Work_B", next: "Set_C" },
      set("Set_C", "$b", "=$a + 1"),
    ],
    { vars },
  );
  const { context, checkpoints } = await ran(document, {
    work: { Work_B: (own) => own.abort() },
  });
  expect(context.status).toBe("cancelled");
  const again = await ran(document, { from: checkpoints.at(-1) as Checkpoint });
  expect([again.status, again.variables.$b, again.started]).toEqual([
    "completed",
    2,
    ["Work_B", "Set_C"],
  ]);
});

test("a failed run that nobody waits for disturbs nobody", async () => {
  const { engine, events } = trial(flow([{ id: "Noop_A", if: "1 / 0", next: "RETURN" }]));
  engine.start();
  await until(() => events.at(-1)?.type === "workflow_failed");
  await settled();
});

test("with one chain at a time a Pause and its siblings still come to their turn", async () => {
  const document = flow(
    [
      { id: "Fork_A", children: ["Pause_A", "Set_B"], next: "RETURN" },
      { id: "Pause_A", resumeResultTarget: "$reply", next: "RETURN" },
      set("Set_B", "$b", 2),
    ],
    { vars },
  );
  const { context } = await ran(document, { maxConcurrency: 1 });
  await context.resume({ token: context.snapshot().paused?.token ?? "", payload: { ok: 1 } });
  await context.done;
  expect(context.snapshot()).toMatchObject({
    status: "completed",
    variables: { $reply: { ok: 1 }, $b: 2 },
  });
});

test("forks in loops in forks keep to their limits and marks", async () => {
  const document = flow(
    [
      { id: "Fork_A", children: ["Loop_A", "Loop_B"], next: "Set_End" },
      { id: "Loop_A", source: [0, 1], children: ["Fork_B"], next: "RETURN" },
      { id: "Fork_B", children: ["Set_A", "Loop_C"], next: "RETURN" },
      set("Set_A", "$list[_index]", "=_index"),
      { id: "Loop_C", source: [5, 6], children: ["Fork_C"], next: "RETURN" },
      { id: "Fork_C", children: ["Set_C", "Set_D"], next: "RETURN" },
      set("Set_C", "$list[_item]", "=_item"),
      set("Set_D", "$list[_item + 5]", "=_item"),
      { id: "Loop_B", source: [20, 21], mode: "parallel", children: ["Fork_D"], next: "RETURN" },
      { id: "Fork_D", children: ["Set_E", "Set_F"], next: "RETURN" },
      set("Set_E", "$list[_item]", "=_item"),
      set("Set_F", "$list[_item + 5]", "=_item"),
      set("Set_End", "$a", "=$list.length"),
    ],
    { vars },
  );
  for (const maxConcurrency of [0, 1, 2]) {
    const whole = await ran(document, { maxConcurrency });
    expect(whole.status).toBe("completed");
    expect(whole.variables.$a).toBe(27);
    expect(whole.context.checkpoint().completedBranches).toEqual({});
    for (const checkpoint of whole.checkpoints) {
      const from = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;
      const again = await ran(document, { from, maxConcurrency });
      expect(again.variables).toEqual(whole.variables);
    }
  }
});

test("every checkpoint of a workflow with several entries leads to the same end", async () => {
  const document = flow(
    [
      set("Set_A", "$a", 1, "Set_A2"),
      set("Set_A2", "$list[0]", "=$a", "Loop_A"),
      { id: "Loop_A", source: [1, 2], children: ["Set_L"], next: "RETURN" },
      set("Set_L", "$list[_item]", "=_item"),
      set("Set_B", "$b", 2, "Noop_F"),
      { id: "Noop_F", children: ["Set_G", "Set_H"], next: "RETURN" },
      set("Set_G", "$list[3]", 3),
      set("Set_H", "$list[4]", 4),
    ],
    { vars },
  );
  const whole = await ran(document);
  expect(whole.variables).toMatchObject({ $a: 1, $b: 2, $list: [1, 1, 2, 3, 4] });
  for (const checkpoint of whole.checkpoints) {
    const from = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint;
    expect((await ran(document, { from })).variables).toEqual(whole.variables);
  }
});

test("an entry that fails is dropped by `continue`, and the run completes", async () => {
  const document = flow([{ id: "Work_A", next: "RETURN" }, set("Set_B", "$b", 2)], { vars });
  const fail = () => {
    throw new Error("no");
  };
  const dropped = await ran(document, { errorStrategy: "continue", work: { Work_A: fail } });
  expect([dropped.status, dropped.variables.$b]).toEqual(["completed", 2]);
  const collected = await ran(document, { errorStrategy: "collect", work: { Work_A: fail } });
  expect(collected.error).toMatchObject({ errors: [{ stepID: "Work_A" }], stepID: null });
});

test("files that can't be removed at the end hold nobody up who aborts", async () => {
  const removing = held();
  const document = flow([{ id: "Write_A", target: "/.tmp/a", value: "a", next: "RETURN" }]);
  const { engine } = trial(document);
  const context = engine.start(
    {},
    {
      file: {
        read: async () => "",
        write: async () => ({ size_bytes: 1 }),
        exists: async () => false,
        remove: () => {
          removing.resolve();
          return new Promise(() => null);
        },
        list: async () => [],
      },
    },
  );
  await removing.promise;
  context.abort();
  await context.done;
  expect(["completed", "cancelled"]).toContain(context.status);
});

test("abort ends a run whose file is never written", async () => {
  const writing = held();
  const { engine } = trial(flow([{ id: "Write_A", target: "/a", value: "a", next: "RETURN" }]));
  const context = engine.start(
    {},
    {
      file: {
        read: async () => "",
        write: () => {
          writing.resolve();
          return new Promise(() => null);
        },
        exists: async () => false,
        remove: async () => undefined,
        list: async () => [],
      },
    },
  );
  await writing.promise;
  context.abort();
  await context.done;
  expect(context.status).toBe("cancelled");
});

test("a file that is never written does not hold up a Pause once its step was aborted", async () => {
  const writing = held();
  const document = flow(
    [
      { id: "Fork_A", errorStrategy: "continue", children: ["Fork_B"], next: "Pause_A" },
      { id: "Fork_B", children: ["Write_A", "Work_B"], next: "RETURN" },
      { id: "Write_A", target: "/a", value: "a", next: "RETURN" },
      { id: "Work_B", next: "RETURN" },
      { id: "Pause_A", resumeResultTarget: "$reply", next: "RETURN" },
    ],
    { vars },
  );
  const running = ran(document, {
    work: { Work_B: () => writing.promise.then(() => Promise.reject(new Error("no"))) },
    adapters: {
      file: {
        read: async () => "",
        write: () => {
          writing.resolve();
          return new Promise(() => null);
        },
        exists: async () => false,
        remove: async () => undefined,
        list: async () => [],
      },
    },
  });
  expect((await running).status).toBe("paused");
});
