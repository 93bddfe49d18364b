// `tsc` checks this file: it reports an error if an expected error is missing.
import { expect, test } from "bun:test";
import type { ResultOf } from "../contract/contract.ts";
import type { Answer } from "../contract/wait.ts";
import type { DurableStep, Steps } from "./call.ts";
import { durable } from "./durable.ts";
import { runThread } from "../testing/run-thread.ts";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const is = <A, B>(same: Same<A, B>): boolean => same;

async function* part(step: DurableStep): Steps<number> {
  return yield* step("part", async () => 1);
}

test("a step has the type of its work's return value", () => {
  const workflow = durable(async function* (step, input, options) {
    const plan = yield* step("planner", () => "text");
    const code = yield* step("coder", async ({ signal, cwd }) => ({
      content: `${plan} ${signal.aborted} ${cwd.length}`,
      meta: { files: ["a.ts"] },
    }));
    const named = yield* step.all({ reader: async () => 1, critic: () => ({ good: true }) });
    const mixed = yield* step.all({ reader: step("a", () => 1), critic: () => "good" });
    const listed = yield* step.all([
      step("a", () => "a"),
      step("b", async () => 2),
      step.wait<boolean>("c"),
    ]);
    const mapped = yield* step.all(["x", "y"].map((name) => step(name, () => name.length)));
    const answer = yield* step.wait<{ ok: boolean }>("approval");
    const unknown = yield* step.wait({ for: "word" });
    const count = yield* part(step);
    is<typeof plan, string>(true);
    is<typeof code, { content: string; meta: { files: string[] } }>(true);
    is<typeof named, { reader: number; critic: { good: boolean } }>(true);
    is<typeof mixed, { reader: number; critic: string }>(true);
    is<typeof listed, [string, number, Answer<boolean>]>(true);
    is<typeof mapped, number[]>(true);
    is<typeof answer, Answer<{ ok: boolean }>>(true);
    is<typeof unknown, Answer>(true);
    is<typeof count, number>(true);
    is<typeof input.prompt, string>(true);
    is<typeof options.maxRounds, number>(true);
    is<typeof options.cwd, string>(true);
    return { returnCode: 0, summary: "" };
  });
  expect(workflow).toBeFunction();
});

test("the value of a result has the workflow's return type", async () => {
  const count = durable(async function* (step) {
    yield* step("a", () => "");
    return { n: 1 };
  });
  const either = durable(async function* (step, { prompt }) {
    yield* step("a", () => "");
    return prompt === "" ? "nothing" : [prompt];
  });
  const whole = durable(async function* (step) {
    yield* step("a", () => "");
    return { returnCode: 0, summary: "", value: true as const };
  });
  is<ResultOf<typeof count>, { n: number }>(true);
  is<ResultOf<typeof either>, string[]>(true);
  is<ResultOf<typeof whole>, true>(true);
  const outcome = await runThread(count);
  if (outcome.status !== "completed") throw new Error(outcome.status);
  is<typeof outcome.result.value, { n: number } | undefined>(true);
  expect(outcome.result.value).toEqual({ n: 1 });
});

test("misuse does not compile", () => {
  const workflow = durable(async function* (step) {
    // @ts-expect-error: a step needs work
    yield* step("a");
    // @ts-expect-error: a question needs a name
    yield* step.wait({ schema: true });
    // @ts-expect-error: a schema is an object or a boolean
    yield* step.wait("a", { schema: "string" });
    // @ts-expect-error: a list contains calls
    yield* step.all([() => ""]);
    const { a } = yield* step.all({ a: () => 1 });
    // @ts-expect-error: a number is not a string
    const wrong: string = a;
    return wrong;
  });
  const plain = durable(async function* (step) {
    // @ts-expect-error: a call is not a step; it needs yield*
    yield step("a", () => "");
    // @ts-expect-error: a call is not a promise; it needs yield*
    await step("b", () => ""); // oxlint-disable-line typescript/await-thenable
    return "";
  });
  // @ts-expect-error: a workflow returns a summary or a result
  const endless = durable(async function* (step) {
    yield* step("a", () => "");
  });
  expect([workflow, plain, endless]).toHaveLength(3);
});
