import { describe, expect, test } from "bun:test";
import { END, WAIT } from "../contract/contract.ts";
import type { Questions } from "../contract/question.ts";
import { createRoleModerator } from "../moderator/moderator.ts";
import type { Role } from "../moderator/context.ts";
import { replayEverywhere } from "../testing/replay-everywhere.ts";
import { roles, run, runThread, summary } from "../testing/run-thread.ts";
import { type DurableProgram, durable } from "./durable.ts";

const asks = async (questions: Questions | undefined, id: string): Promise<string> => {
  const { answer } = (await questions?.ask(id, "tool", { content: `may I ${id}?` })) ?? {};
  return `${id}: ${String(answer?.value)}`;
};
const answers = ["yes", "no", "perhaps"];

describe("a question of a step", () => {
  type Meta = { n: number };
  let runs = 0;
  const asker: Role<Meta> = async ({ key, questions, steps }) => {
    runs += 1;
    const content = [
      await asks(questions, `${key}/1`),
      ...(await Promise.all([asks(questions, `${key}/2`), asks(questions, `${key}/3`)])),
    ].join("; ");
    return { content, meta: { n: steps.length } };
  };
  const plain: Role<Meta> = async ({ steps }) => ({ content: "", meta: { n: steps.length } });
  const workflow = createRoleModerator<{ asker: Meta; plain: Meta }>({
    roles: { asker, plain },
    moderator: ({ steps }) => (["asker", "plain"] as const)[steps.length] ?? END,
  });

  test("is in the log before it, and the role continues with the answer", async () => {
    runs = 0;
    const outcome = await runThread(workflow, { answers });
    expect(roles(outcome)).toEqual([
      ...[1, 2, 3].flatMap(() => [WAIT, "__input__"]),
      "asker",
      "plain",
    ]);
    expect(outcome.steps[6]?.content).toMatch(/1: yes; .*2: no; .*3: perhaps$/);
    expect(outcome.steps.map(({ meta }) => meta.n).slice(6)).toEqual([0, 1]);
    expect(runs).toBe(1);
  });

  test("is not asked again by the next execution, wherever the last execution ended", async () => {
    await replayEverywhere(workflow, { answers });
    const { steps } = await runThread(workflow, { answers: answers.slice(0, 2) });
    expect(steps.at(-1)?.meta.for).toBe("tool");
    const resumed = await runThread(workflow, { steps, answers: answers.slice(2) });
    expect(resumed.steps[6]?.content).toMatch(/1: yes; .*2: no; .*3: perhaps$/);
  });

  const program: DurableProgram = async function* (step) {
    const a = yield* step("a", ({ questions, key }) => asks(questions, key));
    const seen: number[] = [];
    const b = yield* step.all([
      step("b", ({ questions, key, steps }) => {
        seen.push(steps.length);
        return asks(questions, key);
      }),
      step("b", async ({ steps }) => {
        await Promise.resolve();
        seen.push(steps.length);
        return "done";
      }),
    ]);
    const c = yield* step.wait<string>("more");
    const d = yield* step("d", ({ steps }) => steps.length);
    return `${a}, ${b.join()}, ${c.value}, ${d}`;
  };

  test("works in durable code, and in a step.all after the other work", async () => {
    const outcome = await run(program, { answers });
    expect(roles(outcome)).toEqual([
      WAIT,
      "__input__",
      "a",
      "b",
      WAIT,
      "__input__",
      "b",
      WAIT,
      "__input__",
      "d",
    ]);
    expect(summary(outcome)).toMatch(/a:1: yes, .*b:1: no,done, perhaps, 9$/);
    await replayEverywhere(durable(program), { answers });
  });

  test("does not count toward the step's timeout, and is kept for its next try", async () => {
    const limited: DurableProgram = async function* (step) {
      let tries = 0;
      return yield* step(
        "a",
        async ({ questions, key }) => {
          const answer = await asks(questions, key);
          if (tries++ === 0) throw new Error("again");
          return answer;
        },
        { timeout: 20, retry: { attempts: 2, backoff: 0 } },
      );
    };
    const thread = durable(limited)({ prompt: "", steps: [] }, { threadId: "t", maxRounds: 9 });
    expect((await thread.next()).value).toMatchObject({ role: WAIT });
    await Bun.sleep(40);
    const input = { role: "__input__", content: '"yes"', meta: { value: "yes" } };
    const failed = await thread.next(...([input] as unknown as []));
    expect(failed.value).toMatchObject({ role: "a", content: "again" });
    expect((await thread.next()).value).toMatchObject({ role: "a", content: "t:a:1: yes" });
  });
});
