import { noAttempts } from "../../test/fixtures/no-attempts.ts";
import { describe, expect, test } from "bun:test";
import { INPUT, type RoleOutput, type Step, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { ThreadEngine } from "./engine.ts";
import type { EngineParts, EngineThread } from "./parts.ts";

type Line = { role: string; content: string; meta: Record<string, unknown>; timestamp: number };

const step = (role: string, content = role): RoleOutput => ({ role, content, meta: {} });
const recorded = (role: string): Step => ({ ...step(role), timestamp: 1 });
const boom = (): never => {
  throw new Error("boom");
};
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("it never came to that");
    await settle();
  }
}

function drive(
  run: WorkflowFn,
  thread: Partial<EngineThread> = {},
  parts: Partial<EngineParts> = {},
) {
  const lines: Line[] = [];
  const notes: string[] = [];
  const engine = new ThreadEngine(
    {
      run,
      prompt: "do it",
      steps: [],
      options: { threadId: "T", maxRounds: 100 },
      ...thread,
    },
    {
      log: {
        append: async (text) => {
          await settle();
          lines.push(JSON.parse(text));
          return { paused: false };
        },
      },
      attempts: noAttempts,
      scope: (fn) => fn(),
      note: (_tag, content) => void notes.push(content),
      onRefused: () => undefined,
      judge: async () => ({ validate: (value) => (value === "no" ? "it must not be no" : null) }),
      onWait: () => undefined,
      mask: (text) => text.replaceAll("hunter22", "***"),
      now: Date.now,
      closingMs: 50,
      ...parts,
    },
  );
  engine.start();
  return { engine, lines, notes, roles: () => lines.map((line) => line.role) };
}

const refusal = (promise: Promise<void>): Promise<string> =>
  promise.then(
    () => "it was not refused",
    (error: Error) => error.message,
  );

const last = (lines: Line[]): Line => lines.at(-1) as Line;

describe("the engine", () => {
  test("E1: commits a step before the next next()", async () => {
    const committed: number[] = [];
    const { engine, lines } = drive(async function* () {
      for (let n = 0; n < 3; n += 1) {
        committed.push(lines.length);
        yield step("a");
      }
      committed.push(lines.length);
      return { returnCode: 0, summary: "done" };
    });
    await engine.done;
    expect(committed).toEqual([0, 1, 2, 3]);
  });

  test("writes the result as the one end record", async () => {
    const { engine, lines } = drive(async function* () {
      yield step("a");
      return { returnCode: 3, summary: "so so" };
    });
    expect((await engine.done).kind).toBe("ended");
    expect(last(lines)).toMatchObject({
      role: "__end__",
      content: "so so",
      meta: { returnCode: 3, reason: "returned" },
    });
  });

  test("passes recorded steps to the generator without writing them again (E5)", async () => {
    let seen: string[] = [];
    const { engine, roles } = drive(
      async function* (input) {
        seen = input.steps.map(({ role }) => role);
        yield step("c");
        return { returnCode: 0, summary: "" };
      },
      { steps: [recorded("a"), recorded("b")] },
    );
    await engine.done;
    expect(seen).toEqual(["a", "b"]);
    expect(roles()).toEqual(["c", "__end__"]);
  });

  test("ends a throwing thread as failed, with the message and without secrets", async () => {
    const { engine, lines } = drive(async function* () {
      yield step("a");
      throw new TypeError("no such key: hunter22\nat all");
    });
    await engine.done;
    expect(last(lines)).toMatchObject({
      content: "no such key: *** at all",
      meta: { returnCode: 1, reason: "failed", error: { name: "TypeError", step: 2 } },
    });
  });

  test("keeps an error's code, hint and kept data, without secrets", async () => {
    const { engine, lines } = drive(async function* () {
      const error = new WorkflowError({
        code: "EXTRACTION_FAILED",
        kind: "failed",
        message: "no",
        hint: "not hunter22",
      });
      yield step("a");
      throw Object.assign(error, { kept: { raw: 'it is "hunter22"', n: 1 } });
    });
    await engine.done;
    expect(last(lines)).toMatchObject({
      meta: {
        error: {
          name: "WorkflowError",
          step: 2,
          code: "EXTRACTION_FAILED",
          hint: "not ***",
          kept: { raw: 'it is "***"', n: 1 },
        },
      },
    });
  });

  test.each([
    ["not a plain object", () => [1]],
    ["no JSON", () => ({ fn: () => 1 })],
    ["too long", () => ({ raw: "x".repeat(1024 * 1024) })],
    ["a getter that throws", () => Object.defineProperty({}, "x", { enumerable: true, get: boom })],
  ])("keeps nothing when an error's kept value is %s", async (_, kept) => {
    const { engine, lines } = drive(async function* () {
      yield step("a");
      throw Object.assign(new Error("no"), { kept: kept() });
    });
    await engine.done;
    const { error } = last(lines).meta as { error: Record<string, unknown> };
    expect(error).toMatchObject({ name: "Error", step: 2, attempt: expect.any(String) });
    expect(error).not.toHaveProperty("kept");
  });

  test("ends a thread that breaks the contract, naming the step", async () => {
    const { engine, lines } = drive(async function* () {
      yield step("a");
      yield { role: "b", content: 1n, meta: {} } as unknown as RoleOutput;
      return { returnCode: 0, summary: "" };
    });
    await engine.done;
    expect(lines.map(({ role }) => role)).toEqual(["a", "__end__"]);
    expect(last(lines).content).toContain("step 2: content is a bigint");
  });

  test("ends a thread as failed when run does not return a generator", async () => {
    const { engine, lines } = drive((() => Promise.resolve(1)) as unknown as WorkflowFn);
    await engine.done;
    expect(last(lines).content).toContain("did not return an async generator");
  });

  test("counts copied and new steps against maxRounds", async () => {
    let asked = 0;
    const { engine, lines } = drive(
      async function* () {
        for (;;) {
          asked += 1;
          yield step("a");
        }
      },
      { steps: [recorded("x")], options: { threadId: "T", maxRounds: 3 } },
    );
    await engine.done;
    expect(asked).toBe(2);
    expect(last(lines).meta).toEqual({ returnCode: 0, reason: "maxRounds" });
  });

  test("E3: kill writes the end at once, aborts the signal, and then runs the finally blocks", async () => {
    const order: string[] = [];
    const { engine, lines } = drive(async function* (_input, { signal }) {
      try {
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        order.push(`aborted after ${lines.length} lines`);
        yield step("too late");
        return { returnCode: 0, summary: "" };
      } finally {
        order.push("finally");
      }
    });
    await settle();
    await engine.kill();
    expect(last(lines).meta).toEqual({ returnCode: 143, reason: "killed" });
    await engine.done;
    expect(order).toEqual(["aborted after 0 lines", "finally"]);
    expect(lines).toHaveLength(1);
  });

  test("kill does not wait for a role that ignores the signal, and logs the timeout", async () => {
    const { engine, lines, notes } = drive(async function* () {
      await new Promise(() => undefined);
      yield step("never");
      return { returnCode: 0, summary: "" };
    });
    await settle();
    await engine.kill();
    expect(lines).toHaveLength(1);
    await engine.done;
    expect(notes.join()).toContain("did not close within 50 ms");
  });

  test("E6: a kill during the end leaves exactly one end record", async () => {
    const { engine, roles } = drive(async function* () {
      yield step("a");
      return { returnCode: 0, summary: "" };
    });
    await until(() => roles().length === 1);
    await Promise.all([engine.kill(), engine.kill(), engine.kill()]);
    await engine.done;
    expect(roles().filter((role) => role === "__end__")).toHaveLength(1);
  });

  test("pauses at the next yield and continues when resumed", async () => {
    let asked = 0;
    const { engine, roles } = drive(async function* () {
      for (; asked < 3; ) {
        asked += 1;
        yield step("a");
      }
      return { returnCode: 0, summary: "" };
    });
    engine.pause();
    await until(() => engine.status === "paused");
    const before = asked;
    await settle();
    expect(asked).toBe(before);
    expect(engine.resume()).toBe(true);
    expect(engine.resume()).toBe(false);
    await engine.done;
    expect(roles()).toEqual(["a", "a", "a", "__end__"]);
  });

  test("a paused thread can be killed", async () => {
    const { engine, roles } = drive(async function* () {
      yield step("a");
      return { returnCode: 0, summary: "" };
    });
    engine.pause();
    await until(() => engine.status === "paused");
    await engine.kill();
    expect((await engine.done).kind).toBe("ended");
    expect(roles()).toEqual(["__end__"]);
  });

  const asking = async function* () {
    const answer: Step = yield {
      role: WAIT,
      content: "ok?",
      meta: { for: "ok", schema: { type: "string" } },
    };
    yield step("after", `${answer.role} ${answer.content}`);
    return { returnCode: 0, summary: "" };
  };

  test("commits the answer, then returns it from the yield", async () => {
    const { engine, lines } = drive(asking);
    await until(() => engine.status === "waiting");
    await engine.answer({ content: "yes" });
    await engine.done;
    expect(lines.map(({ role }) => role)).toEqual([WAIT, INPUT, "after", "__end__"]);
    expect(lines[1]).toMatchObject({ content: "yes", meta: { for: "ok" } });
    expect(lines[2]?.content).toBe("__input__ yes");
  });

  test("accepts one of two answers, and refuses an answer that breaks the schema", async () => {
    const { engine, lines, notes } = drive(asking);
    await until(() => engine.status === "waiting");
    expect(await refusal(engine.answer({ content: "no" }))).toContain("it must not be no");
    const both = await Promise.allSettled([
      engine.answer({ content: "first" }),
      engine.answer({ content: "second" }),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await engine.done;
    expect(await refusal(engine.answer({ content: "third" }))).toContain("is not waiting");
    expect(lines.filter(({ role }) => role === INPUT)).toHaveLength(1);
    expect(notes.filter((note) => note.startsWith("answer refused"))).toHaveLength(3);
  });

  test("continues with onTimeout without an answer in time, and refuses a late answer", async () => {
    let given: unknown;
    const { engine, lines } = drive(async function* () {
      const answer: Step = yield {
        role: WAIT,
        content: "",
        meta: { for: "ok", expiresAt: Date.now() + 30, onTimeout: "no one" },
      };
      given = answer.meta.value;
      return { returnCode: 0, summary: "" };
    });
    await engine.done;
    expect(given).toBe("no one");
    expect(lines[1]?.meta).toEqual({ for: "ok", timedOut: true, value: "no one" });
  });

  test("a thread whose log ends in a question waits without starting its generator", async () => {
    let started = false;
    const { engine, roles } = drive(
      async function* (input) {
        started = true;
        yield step(`after ${input.steps.at(-1)?.content}`);
        return { returnCode: 0, summary: "" };
      },
      { steps: [{ role: WAIT, content: "", meta: { for: "ok" }, timestamp: 1 }] },
    );
    await settle();
    expect([engine.status, started]).toEqual(["waiting", false]);
    await engine.answer({ content: "yes" });
    await engine.done;
    expect(roles()).toEqual([INPUT, "after yes", "__end__"]);
  });

  test("ends a thread as failed when a question's schema is invalid", async () => {
    const { engine, lines } = drive(asking, {}, { judge: async () => ({ problem: "it is odd" }) });
    await engine.done;
    expect(last(lines).content).toBe("step 1: meta.schema is not a JSON Schema: it is odd");
  });

  test("release leaves the log unchanged and closes the generator", async () => {
    let closed = false;
    const { engine, roles } = drive(async function* (_input, { signal }) {
      try {
        yield step("a");
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        yield step("b");
        return { returnCode: 0, summary: "" };
      } finally {
        closed = true;
      }
    });
    await until(() => roles().length === 1);
    await engine.release();
    expect(await engine.done).toEqual({ kind: "released" });
    expect([roles(), closed]).toEqual([["a"], true]);
  });

  test("aborts when the log can't be written, without another next()", async () => {
    let asked = 0;
    const { engine } = drive(
      async function* () {
        for (;;) {
          asked += 1;
          yield step("a");
        }
      },
      {},
      { log: { append: () => Promise.reject(new Error("the disk is full")) } },
    );
    expect(await engine.done).toMatchObject({
      kind: "brokenOff",
      error: { message: "the disk is full" },
    });
    expect(asked).toBe(1);
  });

  test("fails for an error thrown outside of the generator", async () => {
    const { engine, lines } = drive(async function* () {
      await new Promise(() => undefined);
      yield step("never");
      return { returnCode: 0, summary: "" };
    });
    await settle();
    await engine.fail(new Error("uncaught"));
    await engine.done;
    expect(last(lines)).toMatchObject({ content: "uncaught", meta: { reason: "failed" } });
  });
});
