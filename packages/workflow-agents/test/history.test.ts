import { expect, test } from "bun:test";
import { type AgentFn, durable } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { role } from "../src/role/role.ts";
import { roleSteps } from "../src/role/durable.ts";

/**
 * Returns a durable workflow with roles, plain steps, a question, a failure and parallel branches, and the steps that
 * each agent gets.
 */
function observed() {
  const seen: Record<string, string[]> = {};
  let calls = 0;
  const agent: AgentFn = async ({ role: name = "", start, steps }) => {
    const key = `${name} ${start.content}`;
    seen[key] = steps.map((step) => `${step.role}: ${step.content}`);
    // Later branches finish first, so that the order of the log differs from the order of the starts.
    calls += 1;
    for (let turn = 10; turn > calls % 7; turn -= 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return `did ${key}`;
  };
  const player = role({ description: "", agent, systemPrompt: "", schema: z.object({}) });
  const run = durable(async function* (step, input, options) {
    const play = roleSteps(step, input, options);
    const again = roleSteps(step, input, options);
    yield* play("planner", player);
    yield* step("lint", () => "clean");
    const { value } = yield* step.wait<string>("approval", { content: "Ship it?" });
    yield* again("coder", player, `as ${value} says`);
    try {
      yield* step("test", () => {
        throw new Error("it fails");
      });
    } catch {
      yield* play("coder", player, "once more");
    }
    yield* step.all([
      play("critic", player, "a"),
      play("critic", player, "b"),
      play("tester", player),
    ]);
    yield { role: "note", content: "by hand", meta: {} };
    yield* play("coder", player, "at the end");
    return "done";
  });
  return { seen, run };
}

test("an agent gets the steps of the log, and the same steps after a crash at any step", async () => {
  const { seen, run } = observed();
  const answers = () => "the boss";
  const options = { prompt: "fix it", answers, now: () => 1 };
  const whole = await runThread(run, options);
  expect(whole.status).toBe("completed");
  const log = whole.steps.map((step) => `${step.role}: ${step.content}`);
  expect(seen["coder at the end"]).toEqual(log.slice(0, -1));
  expect(seen["coder as the boss says"]).toEqual(log.slice(0, 4));
  expect(seen["critic a"]).toEqual(log.slice(0, 7));
  expect(seen["tester fix it"]).toEqual(log.slice(0, 7));
  for (const kept of whole.steps.keys()) {
    const again = observed();
    const outcome = await runThread(again.run, { ...options, steps: whole.steps.slice(0, kept) });
    expect(outcome.status).toBe("completed");
    for (const [key, steps] of Object.entries(again.seen)) {
      const order = (list: string[] | undefined) =>
        key === "coder at the end" ? list?.toSorted() : list;
      expect([kept, key, order(steps)]).toEqual([kept, key, order(seen[key])]);
    }
  }
});
