import { describe, expect, test } from "bun:test";
import { INPUT, type RoleOutput, WAIT } from "../contract/contract.ts";
import type { WaitRequest } from "../contract/wait.ts";
import { type DurableProgram, durable } from "./durable.ts";
import { replayEverywhere } from "../testing/replay-everywhere.ts";
import { run, summary } from "../testing/run-thread.ts";

describe("step.sleep", () => {
  const napping = (time: number | string | Date): DurableProgram =>
    async function* (step) {
      yield* step("a", () => "a");
      yield* step.sleep(time);
      return yield* step("b", () => "b");
    };

  test("is a wait without a question, with the end time", async () => {
    const begin = Date.now();
    const { steps } = await run(napping("1h 30m"));
    expect(steps.map(({ role }) => role)).toEqual(["a", WAIT, INPUT, "b"]);
    const { content, meta } = steps[1] as RoleOutput;
    expect(meta).toEqual({ for: "sleep", sleep: true, expiresAt: expect.any(Number) });
    const at = meta.expiresAt as number;
    expect(Math.abs(at - begin - 5_400_000)).toBeLessThan(60_000);
    expect(content).toBe(`sleeping until ${new Date(at).toISOString()}`);
    expect(steps[2]).toMatchObject({ meta: { for: "sleep", timedOut: true, sleep: true } });
  });

  test("is not repeated after a restart, and lasts until the time in the log", async () => {
    await replayEverywhere(durable(napping(60_000)));
    const { steps } = await run(napping(60_000));
    const thread = durable(napping(60_000))(
      { prompt: "", steps: steps.slice(0, 2) },
      { threadId: "t", maxRounds: 9 },
    );
    expect((await thread.next()).value).toMatchObject({ meta: steps[1]?.meta });
  });

  test("accepts a Date, even in the past, and refuses invalid times", async () => {
    const at = async (time: number | string | Date) => {
      const { steps } = await run(napping(time));
      return steps[1]?.meta.expiresAt;
    };
    expect(await at(new Date(5))).toBe(5);
    expect(await at(-86_400_000)).toBeLessThan(Date.now());
    const bad = ["", "soon", "5", "-1s", "1y", Number.NaN, Infinity, 1e300, new Date(Number.NaN)];
    for (const time of bad) {
      const outcome = await run(napping(time));
      expect(outcome).toMatchObject({ status: "failed", error: { code: "BAD_SLEEP" } });
      expect(outcome.steps).toHaveLength(1);
    }
  });

  test("in a step.all begins when all work is done", async () => {
    const program: DurableProgram = async function* (step) {
      yield* step.all([step.sleep("1d"), step("a", () => Bun.sleep(5)), step.sleep("2d")]);
      return "";
    };
    const { steps } = await run(program);
    expect(steps.map(({ role }) => role)).toEqual(["a", WAIT, INPUT, WAIT, INPUT]);
  });
});

describe("step.wait", () => {
  const asking: DurableProgram = async function* (step) {
    const answer = yield* step.wait<{ ok: boolean }>("approval", {
      content: "Ship it?",
      schema: { type: "object" },
      expiresAt: 99,
      onTimeout: { ok: false },
      token: "t",
    });
    const { value, content, timedOut, meta } = answer;
    return JSON.stringify({ value, content, timedOut, by: meta.by });
  };
  const question = {
    role: WAIT,
    content: "Ship it?",
    meta: {
      schema: { type: "object" },
      expiresAt: 99,
      onTimeout: { ok: false },
      token: "t",
      for: "approval",
    },
  };
  const input = (content: string, meta: Record<string, unknown> = {}): RoleOutput => ({
    role: INPUT,
    content,
    meta,
  });

  test("asks, and returns the answer's JSON value", async () => {
    const outcome = await run(asking, { answers: ['{"ok":true}'] });
    expect(outcome.steps[0]).toMatchObject(question);
    expect(summary(outcome)).toBe(
      '{"value":{"ok":true},"content":"{\\"ok\\":true}","timedOut":false,"by":{"kind":"api"}}',
    );
  });

  test("returns the text as value when it is not JSON, and reports a timeout", async () => {
    const [plain, late] = [input("yes"), input("", { value: { ok: false }, timedOut: true })];
    const texted = await run(asking, { steps: [question, plain] });
    expect(summary(texted)).toBe('{"value":"yes","content":"yes","timedOut":false}');
    const timedOut = await run(asking, { steps: [question, late] });
    expect(summary(timedOut)).toBe('{"value":{"ok":false},"content":"","timedOut":true}');
  });

  test("can limit the time to answer", async () => {
    const within = (request: WaitRequest): DurableProgram =>
      async function* (step) {
        return (yield* step.wait<string>("word", request)).value;
      };
    const begin = Date.now();
    const { steps } = await run(within({ within: "1h" }));
    const { meta } = steps[0] as RoleOutput;
    expect(meta).toEqual({ for: "word", expiresAt: expect.any(Number) });
    expect(meta.expiresAt).toBeGreaterThanOrEqual(begin + 3_600_000);
    const again = durable(within({ within: "1h" }))(
      { prompt: "", steps: [{ role: WAIT, content: "", meta: { for: "word", expiresAt: 99 } }] },
      { threadId: "t", maxRounds: 9 },
    );
    expect((await again.next()).value).toMatchObject({ meta: { expiresAt: 99 } });
    await replayEverywhere(durable(within({ within: 60_000 })), { answers: ["this"] });
    for (const bad of [0, -1, "soon", Number.NaN, 1e300]) {
      const outcome = await run(within({ within: bad }));
      expect(outcome).toMatchObject({ status: "failed", error: { code: "BAD_WAIT" } });
    }
    const soon = await run(within({ within: "soon" }));
    expect(String("error" in soon && (soon.error as Error).stack)).toContain("wait.test.ts");
    const odd = await run(within({ within: Object.create(null) as string }));
    expect(odd).toMatchObject({
      message: `the question for "word": invalid within an object`,
    });
    const both = await run(within({ within: "1h", expiresAt: 5 }));
    expect(both).toMatchObject({ error: { code: "BAD_WAIT" } });
  });

  test("accepts the name of the answer as the key for", async () => {
    const named: DurableProgram = async function* (step) {
      return (yield* step.wait<string>({ for: "word", content: "Which?" })).value;
    };
    const outcome = await run(named, { answers: ["this"] });
    expect(outcome.steps[0]).toMatchObject({
      role: WAIT,
      content: "Which?",
      meta: { for: "word" },
    });
    expect(summary(outcome)).toBe("this");
  });

  test("asks again after a question without an answer, and replays such a log", async () => {
    const thread = durable(asking)(
      { prompt: "", steps: [question] },
      { threadId: "t", maxRounds: 9 },
    );
    expect((await thread.next()).value).toEqual(question);
    const steps = [question, question, input("yes")];
    expect(summary(await run(asking, { steps }))).toContain('"yes"');
  });

  test("refuses an answer in the log that does not follow a question", async () => {
    const twice: DurableProgram = async function* (step) {
      yield* step.wait("approval");
      return (yield* step.wait<string>("approval")).value;
    };
    for (const [program, steps] of [
      [asking, [input("early")]],
      [asking, [input("early", { for: "approval" })]],
      [twice, [question, input("yes"), input("yes")]],
    ] as const) {
      expect(await run(program, { steps })).toMatchObject({
        status: "failed",
        error: { code: "DIVERGED" },
        message: expect.stringContaining(' without a question, but the workflow waits for "appro'),
      });
    }
  });

  test("fails when it continues without an answer", async () => {
    const thread = durable(asking)({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    await thread.next();
    expect(await thread.next().catch((error: unknown) => error)).toMatchObject({
      code: "NO_ANSWER",
    });
  });
});
