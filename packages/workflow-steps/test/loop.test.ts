import { expect, test } from "bun:test";
import type { StepDocument } from "../src/entry/index.ts";
import { flow, held, ran, settled, trial } from "./ran.ts";

const vars = [
  "$items(ARRAY) = []",
  "$a(ARRAY) = []",
  "$n(INT) = 0",
  "$source(OBJECT)",
  "$dirs(ARRAY) = []",
];

/** Returns a workflow with a Loop over `$items` that writes each item to `$a[_index]`. */
const looping = (more: Partial<StepDocument> = {}, body: StepDocument[] = [copy]) =>
  flow(
    [
      { id: "Loop_A", source: "=$items", children: ["Set_Copy"], next: "Noop_After", ...more },
      ...body,
      { id: "Noop_After", next: "Stop_A" },
      { id: "Stop_A" },
    ],
    { vars },
  );
const copy: StepDocument = {
  id: "Set_Copy",
  out: { "$a[_index]": "=_item", "$dirs[_index]": "=_iterDir" },
  next: "RETURN",
};

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Returns a checkpoint at the loop. */
const at = (progress: number | null, items: unknown) => ({
  currentStepID: "Loop_A",
  variables: { $items: items },
  ...(progress !== null && { loopProgress: { Loop_A: progress } }),
});

test("a serial loop publishes its progress after every iteration", async () => {
  const { checkpoints, context } = await ran(looping(), { from: at(null, ["x", "y", "z"]) });
  expect(checkpoints.map(({ loopProgress }) => loopProgress.Loop_A)).toEqual([1, 2, 3, 3, 3, 3]);
  expect(context.snapshot().variables.$dirs).toEqual(["Loop_A_0", "Loop_A_1", "Loop_A_2"]);
});

test("a parallel loop publishes its progress only at its end, and each iteration has its own index", async () => {
  const document = looping({ mode: "parallel", children: ["Work_A"] }, [
    { id: "Work_A", next: "Set_Copy" },
    copy,
  ]);
  const turns = numbers(5).map(() => held());
  const running = ran(document, {
    from: at(null, ["a", "b", "c", "d", "e"]),
    work: { Work_A: (context) => turns[Number(context.evaluate("=_index"))]?.promise },
  });
  for (const index of [3, 1, 4, 0, 2]) {
    await settled();
    turns[index]?.resolve();
  }
  const { checkpoints, variables } = await running;
  expect(variables.$a).toEqual(["a", "b", "c", "d", "e"]);
  const progress = checkpoints.map(({ loopProgress }) => loopProgress.Loop_A);
  expect(progress.slice(0, 9)).toEqual(numbers(9).map(() => undefined));
  expect(new Set(progress.slice(9))).toEqual(new Set([5]));
});

test("a parallel loop resumed at 2 runs the indexes 2, 3 and 4", async () => {
  const { variables } = await ran(looping({ mode: "parallel" }), {
    from: at(2, ["a", "b", "c", "d", "e"]),
  });
  expect(variables.$a).toEqual([null, null, "c", "d", "e"]);
});

const counting: StepDocument[] = [{ id: "Set_N", target: "$n", value: "=$n + 1", next: "RETURN" }];

test("a while loop tests its condition before each iteration, and ends at maxIterations", async () => {
  const more = { source: undefined, children: ["Set_N"], maxIterations: 7 };
  const tested = await ran(looping({ ...more, while: "$n < 3" }, counting));
  expect(tested.variables.$n).toBe(3);
  const bounded = await ran(looping({ ...more, while: "=true" }, counting));
  expect([bounded.variables.$n, bounded.status]).toEqual([7, "stopped"]);
  const none = await ran(looping({ ...more, while: "false" }, counting));
  expect([none.variables.$n, none.of("Loop_A")]).toEqual([0, "step_start step_done"]);
});

test.each([{ items: null }, { items: undefined }, { items: [] }])(
  "an empty source runs no iteration: %j",
  async ({ items }) => {
    const { started, status } = await ran(looping(), { from: at(null, items) });
    expect([status, started]).toEqual(["stopped", ["Loop_A", "Noop_After", "Stop_A"]]);
  },
);

test.each([{ items: { a: 1 } }, { items: "ab" }, { items: 3 }, { items: true }])(
  "a source that is not an array fails the loop: %j",
  async ({ items }) => {
    const { error, of } = await ran(looping(), { from: at(null, items) });
    expect(error).toMatchObject({ stepID: "Loop_A" });
    expect(of("Loop_A")).toBe("step_start step_error");
  },
);

test("the items are fixed when the loop starts, whatever its body writes", async () => {
  const { variables } = await ran(
    looping({ children: ["Set_Items"] }, [
      { id: "Set_Items", target: "$items[$items.length]", value: "=_item", next: "RETURN" },
    ]),
    { from: at(null, [1, 2]) },
  );
  expect(variables.$items).toEqual([1, 2, 1, 2]);
});

test("BREAK leaves a serial loop, even from a Branch and from a fork", async () => {
  for (const children of [["Branch_A"], ["Noop_F"]]) {
    const body: StepDocument[] = [
      { id: "Noop_F", children: ["Branch_A", "Set_N"], next: "Set_Copy" },
      { id: "Branch_A", cases: [["_index == 2", "Noop_Break"]], next: "Set_Copy" },
      { id: "Noop_Break", next: "BREAK" },
      ...counting,
      copy,
    ];
    const used = children[0] === "Noop_F" ? body : body.filter(({ id }) => !/_[FN]$/.test(id));
    const { variables, of, status } = await ran(looping({ children }, used), {
      from: at(null, ["a", "b", "c", "d"]),
    });
    expect([status, of("Loop_A")]).toEqual(["stopped", "step_start step_done"]);
    expect(variables.$a).toEqual(["a", "b"]);
  }
});

test("BREAK in a parallel loop starts no further iteration, and lets running iterations finish", async () => {
  const slow = held();
  const document = looping({ mode: "parallel", children: ["Work_A"] }, [
    { id: "Work_A", next: "Branch_A" },
    { id: "Branch_A", cases: [["_index == 1", "Noop_Break"]], next: "Set_Copy" },
    { id: "Noop_Break", next: "BREAK" },
    copy,
  ]);
  const running = ran(document, {
    from: at(null, ["a", "b", "c", "d", "e"]),
    maxConcurrency: 2,
    work: { Work_A: (context) => (context.evaluate("=_index") === 0 ? slow.promise : null) },
  });
  await settled();
  await settled();
  slow.resolve();
  const { variables, context, status } = await running;
  expect([status, variables.$a]).toEqual(["stopped", ["a"]]);
  expect(context.checkpoint().loopProgress).toEqual({ Loop_A: 5 });
});

test("several children run concurrently inside each iteration of a serial loop", async () => {
  const order: string[] = [];
  const say = (name: string) => async (context: { evaluate(text: string): unknown }) => {
    const index = String(context.evaluate("=_index"));
    order.push(`${name}${index} begins`);
    await settled();
    order.push(`${name}${index} ends`);
  };
  const { checkpoints } = await ran(
    looping({ children: ["Work_A", "Work_B"] }, [
      { id: "Work_A", next: "RETURN" },
      { id: "Work_B", next: "RETURN" },
    ]),
    { from: at(null, [1, 2]), work: { Work_A: say("A"), Work_B: say("B") } },
  );
  const sorted = (part: string[]) => part.toSorted().join(", ");
  expect(sorted(order.slice(0, 2))).toBe("A0 begins, B0 begins");
  expect(sorted(order.slice(2, 4))).toBe("A0 ends, B0 ends");
  expect(sorted(order.slice(4, 6))).toBe("A1 begins, B1 begins");
  expect(checkpoints.map(({ loopProgress }) => loopProgress.Loop_A ?? 0).slice(0, 5)).toEqual([
    0, 1, 1, 2, 2,
  ]);
});

test.each(["serial", "parallel"])(
  "a %s loop with continue drops failed iterations",
  async (mode) => {
    const document = looping({ mode, errorStrategy: "continue", children: ["Work_A"] }, [
      { id: "Work_A", next: "Set_Copy" },
      copy,
    ]);
    const { variables, status, context } = await ran(document, {
      from: at(null, ["a", "b", "c"]),
      work: {
        Work_A: (run) => {
          if (run.evaluate("=_index") !== 1) throw new Error("no");
        },
      },
    });
    expect([status, variables.$a]).toEqual(["stopped", [null, "b"]]);
    expect(context.checkpoint().loopProgress).toEqual({ Loop_A: 3 });
  },
);

test("a parallel loop with collect fails with every iteration's error, after all have ended", async () => {
  const document = looping({ mode: "parallel", errorStrategy: "collect", children: ["Work_A"] }, [
    { id: "Work_A", next: "Set_Copy" },
    copy,
  ]);
  const { error, variables } = await ran(document, {
    from: at(null, ["a", "b", "c"]),
    work: {
      Work_A: (run) => {
        if (run.evaluate("=_index") !== 1) throw new Error(`no ${String(run.evaluate("=_item"))}`);
      },
    },
  });
  expect(error).toMatchObject({
    stepID: "Loop_A",
    errors: [
      { stepID: "Work_A", error: { message: "no a" } },
      { stepID: "Work_A", error: { message: "no c" } },
    ],
  });
  expect(variables.$a).toEqual([null, "b"]);
});

test("an iteration with only skipped steps counts as done", async () => {
  const document = looping({ children: ["Set_Copy"] }, [{ ...copy, if: "_index != 1" }]);
  const { variables, checkpoints } = await ran(document, { from: at(null, ["a", "b"]) });
  expect(variables.$a).toEqual(["a"]);
  expect(checkpoints.map(({ loopProgress }) => loopProgress.Loop_A)).toEqual([1, 2, 2, 2, 2]);
});

test("_item, _index and _iterDir are not available after the loop", async () => {
  const document = looping({ next: "Set_Copy2" }, [
    copy,
    {
      id: "Set_Copy2",
      target: "$source",
      value: { at: "=_index", item: "=_item" },
      next: "Noop_After",
    },
  ]);
  const { variables } = await ran(document, { from: at(null, [1]) });
  expect(variables.$source).toEqual({});
});

test("a run whose steps never wait can be aborted by a timer", async () => {
  const document = flow(
    [
      { id: "Set_Start", target: "$n", value: 0, next: "Set_N" },
      { id: "Set_N", target: "$n", value: "=$n + 1", next: "Set_N" },
    ],
    { vars },
  );
  const { engine, events } = trial(document);
  const context = engine.start();
  setTimeout(() => context.abort(), 20);
  await context.done;
  expect(context.status).toBe("cancelled");
  expect(events.at(-1)?.type).toBe("workflow_cancelled");
});
