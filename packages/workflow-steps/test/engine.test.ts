import { expect, test } from "bun:test";
import { Engine, type StepDocument } from "../src/entry/index.ts";
import { flow, held, ran, settled, trial, until } from "./ran.ts";

const vars = ["$a(INT)", "$b(INT)", "$list(ARRAY) = []", "$reply(OBJECT)"];

const set = (id: string, target: string, value: unknown, next = "RETURN"): StepDocument => ({
  id,
  target,
  value,
  next,
});

test("concurrent runs of one engine are independent", async () => {
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

test("a run can be aborted inside onCheckpoint", async () => {
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

test("a failed run without a waiting caller has no side effects", async () => {
  const { engine, events } = trial(flow([{ id: "Noop_A", if: "1 / 0", next: "RETURN" }]));
  engine.start();
  await until(() => events.at(-1)?.type === "workflow_failed");
  await settled();
});

test("`continue` drops a failed entry, and the run completes", async () => {
  const document = flow([{ id: "Work_A", next: "RETURN" }, set("Set_B", "$b", 2)], { vars });
  const fail = () => {
    throw new Error("no");
  };
  const dropped = await ran(document, { errorStrategy: "continue", work: { Work_A: fail } });
  expect([dropped.status, dropped.variables.$b]).toEqual(["completed", 2]);
  const collected = await ran(document, { errorStrategy: "collect", work: { Work_A: fail } });
  expect(collected.error).toMatchObject({ errors: [{ stepID: "Work_A" }], stepID: null });
});

test("files that can't be removed at the end do not block an abort", async () => {
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

test("abort ends a run with a pending file write", async () => {
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

test("a file write that never ends does not delay a Pause once its step is aborted", async () => {
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
