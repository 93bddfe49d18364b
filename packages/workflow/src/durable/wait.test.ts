import { describe, expect, test } from "bun:test";
import { INPUT, type RoleOutput, WAIT } from "../contract/contract.ts";
import { type DurableProgram, durable } from "./durable.ts";
import { run, summary } from "../testing/run-thread.ts";

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

  test("asks, and has the answer's JSON value", async () => {
    const outcome = await run(asking, { answers: ['{"ok":true}'] });
    expect(outcome.steps[0]).toMatchObject(question);
    expect(summary(outcome)).toBe(
      '{"value":{"ok":true},"content":"{\\"ok\\":true}","timedOut":false}',
    );
  });

  test("has the answer from the log after a restart", async () => {
    const answered = input("x", { value: { ok: true }, by: "ann" });
    const outcome = await run(asking, { steps: [question, answered] });
    expect(outcome.steps).toHaveLength(2);
    expect(summary(outcome)).toBe(
      '{"value":{"ok":true},"content":"x","timedOut":false,"by":"ann"}',
    );
  });

  test("has the text as value when there is no JSON, and says when nobody answered", async () => {
    const [plain, late] = [input("yes"), input("", { value: { ok: false }, timedOut: true })];
    const texted = await run(asking, { steps: [question, plain] });
    expect(summary(texted)).toBe('{"value":"yes","content":"yes","timedOut":false}');
    const timedOut = await run(asking, { steps: [question, late] });
    expect(summary(timedOut)).toBe('{"value":{"ok":false},"content":"","timedOut":true}');
  });

  test("takes what is waited for as a key too", async () => {
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

  test("asks again after a question without an answer, and understands such a log", async () => {
    const thread = durable(asking)(
      { prompt: "", steps: [question] },
      { threadId: "t", maxRounds: 9 },
    );
    expect((await thread.next()).value).toEqual(question);
    const steps = [question, question, input("yes")];
    expect(summary(await run(asking, { steps }))).toContain('"yes"');
  });

  test("takes an answer that was put into the log before the question", async () => {
    expect(summary(await run(asking, { steps: [input("early")] }))).toContain('"early"');
  });

  test("fails when it is driven on without an answer", async () => {
    const thread = durable(asking)({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    await thread.next();
    expect(await thread.next().catch((error: unknown) => error)).toMatchObject({
      code: "NO_ANSWER",
    });
  });
});
