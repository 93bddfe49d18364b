import { describe, expect, test } from "bun:test";
import { INPUT, type RoleOutput, WAIT } from "../contract/contract.ts";
import type { DurableStep, StepCall, Steps } from "./call.ts";
import { type DurableProgram, durable } from "./durable.ts";
import { roles, run, summary, text } from "../testing/run-thread.ts";

test("durable returns an async generator function", () => {
  const made = durable(async function* (step) {
    return yield* step("a", () => "");
  });
  expect(Object.prototype.toString.call(made)).toBe("[object AsyncGeneratorFunction]");
});

describe("a step", () => {
  const planAndCode: DurableProgram = async function* (step, input) {
    const plan = yield* step("planner", () => `plan ${input.prompt}`);
    const code = yield* step("coder", async () => ({ content: plan, meta: { files: 2 } }));
    return `${code.content}: ${code.meta.files} files`;
  };

  test("runs its work and is committed", async () => {
    const outcome = await run(planAndCode, { prompt: "it", now: () => 5 });
    expect(outcome).toEqual({
      status: "completed",
      reason: "returned",
      result: { returnCode: 0, summary: "plan it: 2 files" },
      steps: [
        { role: "planner", content: "plan it", meta: {}, timestamp: 5 },
        { role: "coder", content: "plan it", meta: { files: 2 }, timestamp: 5 },
      ],
    });
  });

  test("returns its work's value, which is equal on the first run and on a replay", async () => {
    const values: unknown[] = [
      "",
      "text",
      '{"a":1}',
      0,
      null,
      false,
      undefined,
      [],
      [1, { a: "b" }],
      {},
      { content: "c", meta: {} },
      { content: "c", meta: { x: 1 } },
      { content: "c" },
      { content: "c", meta: {}, more: 1 },
      { content: 1, meta: {} },
      { __proto__: null, a: 1 },
    ];
    const seen: unknown[] = [];
    const program: DurableProgram = async function* (step) {
      for (const value of values) seen.push(yield* step("giver", () => value));
      return "done";
    };
    const { steps } = await run(program);
    await run(program, { steps });
    expect(seen).toEqual([...values, ...values]);
    expect(steps[1]?.meta).toEqual({});
    expect(steps[8]?.content).toBe('[1,{"a":"b"}]');
  });

  test("returns a copy, so that changes of the original have no effect", async () => {
    const meta = { files: ["a"] };
    const program: DurableProgram = async function* (step) {
      const given = yield* step("giver", () => ({ content: "", meta }));
      meta.files.push("b");
      return given.meta.files.join();
    };
    expect(summary(await run(program))).toBe("a");
  });

  test("fails when its value can't be recorded", async () => {
    const returning = (value: unknown): DurableProgram =>
      async function* (step) {
        yield* step("giver", () => value);
        return "";
      };
    expect(summary(await run(returning({ when: new Date(0) })))).toContain(
      'step \\"giver\\" returned a value that can\'t be recorded: its value.when is an instance of Date',
    );
    expect(summary(await run(returning({ content: "", meta: { f: () => 1 } })))).toContain(
      "meta.f is a function",
    );
    const taken = { content: "", meta: { __durable__: { returned: "json" } } };
    expect(summary(await run(returning(taken)))).toContain("the reserved key meta.");
  });

  test("gets the thread's signal, cwd and env", async () => {
    const { signal } = new AbortController();
    const program: DurableProgram = async function* (step) {
      const same = yield* step("asker", (context) => context.signal === signal);
      return yield* step("asker", ({ cwd, env }) => `${same} ${cwd} ${env.LANG}`);
    };
    const outcome = await run(program, { signal, cwd: "/repo", env: { LANG: "C" } });
    expect(summary(outcome)).toBe("true /repo C");
    const bare = durable(program)({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    await bare.next();
    expect((await bare.next()).value).toMatchObject({ content: "false undefined undefined" });
  });

  test("that was called without yield* is reported at the end", async () => {
    const program: DurableProgram = async function* (step) {
      yield* step("first", () => "");
      void step("second", () => "");
      return "";
    };
    expect(summary(await run(program))).toContain('step \\"second\\" was described but never run');
  });

  const misuses: [
    keyword: string,
    misuse: (call: StepCall<string>, before: StepCall<string>) => Steps<unknown>,
  ][] = [
    [
      "await",
      async function* (call, before) {
        yield* before;
        await (call as unknown);
      },
    ],
    [
      "yield",
      async function* (call) {
        yield call as never;
      },
    ],
  ];
  for (const [keyword, misuse] of misuses) {
    test(`passed to ${keyword} fails the thread`, async () => {
      let ran = 0;
      const program: DurableProgram = async function* (step) {
        const call = step("lister", () => {
          ran += 1;
          return "";
        });
        yield* misuse(
          call,
          step("first", () => ""),
        );
        return "";
      };
      const outcome = await run(program);
      expect("error" in outcome && outcome.error).toMatchObject({
        code: "STEP_NOT_RUN",
        message: 'step "lister" needs yield*, not await, yield or return',
      });
      expect(ran).toBe(0);
    });
  }

  test("may be factored out into custom generators", async () => {
    async function* twice(step: DurableStep, role: string): Steps<string> {
      const first = yield* step(role, () => "a");
      return first + (yield* step(role, () => "b"));
    }
    const program: DurableProgram = async function* (step) {
      return (yield* twice(step, "x")) + (yield* twice(step, "y"));
    };
    const outcome = await run(program);
    expect(roles(outcome)).toEqual(["x", "x", "y", "y"]);
    expect(summary(await run(program, { steps: outcome.steps.slice(0, 3) }))).toBe("abab");
  });
});

describe("a plain yield in a durable workflow", () => {
  const byHand: DurableProgram = async function* (step) {
    yield text("note", "by hand");
    const answer = (yield { role: WAIT, content: "?", meta: { for: "x" } }) as RoleOutput;
    return yield* step("end", () => answer.content);
  };

  test("is a step, and is skipped when the log has it", async () => {
    const outcome = await run(byHand, { answers: ["given"] });
    expect(roles(outcome)).toEqual(["note", WAIT, INPUT, "end"]);
    for (const after of [1, 2, 3, 4]) {
      const steps = outcome.steps.slice(0, after);
      const again = await run(byHand, { steps, answers: ["given"] });
      expect(roles(again)).toEqual(roles(outcome));
      expect(summary(again)).toBe("given");
    }
  });

  test("is compared with the log", async () => {
    const outcome = await run(byHand, { steps: [text("other", "")] });
    expect(summary(outcome)).toContain('step 1 of the log is \\"other\\"');
  });

  test("of an invalid value is refused by the engine", async () => {
    const rubbish: DurableProgram = async function* () {
      yield undefined as unknown as RoleOutput;
      return "";
    };
    expect(summary(await run(rubbish))).toContain("step 1: the step is undefined");
  });
});
