import { describe, expect, test } from "bun:test";
import { INPUT, WAIT } from "../contract/contract.ts";
import { type DurableProgram, durable } from "./durable.ts";
import { roles, run, runThread, summary } from "../testing/run-thread.ts";

/** A promise that the test settles. */
function gate<T>(): { opened: Promise<T>; open: (value: T) => void; fail: (error: Error) => void } {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve, fail: reject };
}

describe("step.all", () => {
  test("runs its work concurrently and commits each result as it finishes", async () => {
    const slow = gate<string>();
    const quick = gate<number>();
    const thread = durable(async function* (step) {
      const { reader, critic } = yield* step.all({
        reader: () => slow.opened,
        critic: () => quick.opened,
      });
      return `${reader} ${critic.toFixed(1)}`;
    })({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    const first = thread.next();
    quick.open(7);
    expect((await first).value).toMatchObject({ role: "critic" });
    slow.open("read");
    expect((await thread.next()).value).toMatchObject({ role: "reader", content: "read" });
    expect((await thread.next()).value).toEqual({ returnCode: 0, summary: "read 7.0" });
  });

  test("accepts an object of calls", async () => {
    const program: DurableProgram = async function* (step) {
      const { a, b, ok } = yield* step.all({
        a: step("reader", () => 1),
        b: () => "two",
        ok: step.wait<boolean>("approval"),
      });
      return `${a.toFixed(1)} ${b} ${String(ok.value)}`;
    };
    const { steps, ...end } = await runThread(durable(program), { answers: ["true"] });
    expect(end).toMatchObject({ status: "completed", result: { summary: "1.0 two true" } });
    expect(steps.map(({ role }) => role)).toEqual(["reader", "b", WAIT, INPUT]);
  });

  test("accepts a list with repeated names", async () => {
    const ran: number[] = [];
    const program: DurableProgram = async function* (step) {
      const parts = yield* step.all(
        [1, 2, 3].map((n) =>
          step("reader", () => {
            ran.push(n);
            return `r${n}`;
          }),
        ),
      );
      const [word, count] = yield* step.all([step("w", () => "word"), step("n", () => 3)]);
      return `${parts.join()} ${word} ${count.toFixed(0)}`;
    };
    const { steps } = await run(program);
    expect(steps.map((step) => step.meta)).toEqual([
      { __durable__: { member: 0 } },
      { __durable__: { member: 1 } },
      { __durable__: { member: 2 } },
      {},
      { __durable__: { returned: "json" } },
    ]);
    ran.length = 0;
    const third = steps.slice(2, 3);
    expect(summary(await run(program, { steps: third }))).toBe("r1,r2,r3 word 3");
    expect(ran).toEqual([1, 2]);
  });

  test("throws the first error, after the other members are committed", async () => {
    const late = gate<string>();
    const program: DurableProgram = async function* (step) {
      yield* step.all({
        bad: () => Promise.reject(new TypeError("no model")),
        worse: () => late.opened.then(() => Promise.reject(new Error("later"))),
        good: () => late.opened,
      });
      return "";
    };
    const running = run(program);
    late.open("fine");
    const outcome = await running;
    expect(roles(outcome)).toEqual(["good"]);
    expect(outcome).toMatchObject({ status: "failed", message: "no model" });
    expect("error" in outcome && outcome.error).toBeInstanceOf(TypeError);
  });

  test("of an empty list is an empty list", async () => {
    const program: DurableProgram = async function* (step) {
      return JSON.stringify([yield* step.all([]), yield* step.all({})]);
    };
    expect(summary(await run(program))).toBe("[[],{}]");
  });

  test("asks its questions when all work is done", async () => {
    const program: DurableProgram = async function* (step) {
      const [answer, made] = yield* step.all([
        step.wait<number>("price"),
        step("maker", async () => "made"),
        step.wait("colour"),
      ]);
      return `${made} ${answer.value + 1}`;
    };
    const outcome = await run(program, { answers: ["41", "red"] });
    expect(roles(outcome)).toEqual(["maker", WAIT, INPUT, WAIT, INPUT]);
    expect(summary(outcome)).toBe("made 42");
    const { steps } = outcome;
    for (const after of [1, 2, 3, 4]) {
      const answers = after <= 2 ? ["41", "red"] : ["red"];
      expect(summary(await run(program, { steps: steps.slice(0, after), answers }))).toBe(
        "made 42",
      );
    }
  });

  test("refuses a list of other values", async () => {
    const program: DurableProgram = async function* (step) {
      yield* step.all([step.all([])]);
      return "";
    };
    expect(summary(await run(program))).toContain("step.all accepts calls of step and step.wait");
  });
});
