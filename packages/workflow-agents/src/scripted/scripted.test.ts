import { expect, test } from "bun:test";
import { failureOf, observed, payloadOf, threadOf } from "../../test/published.ts";
import { scriptedAgent } from "./scripted.ts";

const step = { role: "planner", content: "1. read", meta: {}, timestamp: 1 };

test("a list answers by the number of steps, so the answer is the same after a restart", async () => {
  const agent = scriptedAgent(["plan", "code"]);
  expect(await agent(threadOf(), "")).toBe("plan");
  expect(await agent(threadOf({ steps: [step] }), "")).toBe("code");
  expect(await agent(threadOf(), "")).toBe("plan");
  expect(await failureOf(agent(threadOf({ steps: [step, step] }), ""))).toMatchObject({
    code: "NO_ANSWER",
  });
});

test("a table answers by keys in the system prompt", async () => {
  const agent = scriptedAgent({ plan: "1. read", code: (ctx) => `for ${ctx.start.content}` });
  expect(await agent(threadOf(), "You plan")).toBe("1. read");
  expect(await agent(threadOf(), "You code")).toBe("for fix the sum");
  expect(await failureOf(agent(threadOf(), "You test"))).toMatchObject({ code: "NO_ANSWER" });
});

test("publishes its answer as the answer of a model", async () => {
  const run = await observed(() => scriptedAgent(["one  two\nthree"])(threadOf(), ""));
  const said = run.events.filter(({ type }) => type === "llm_token");
  expect(said.map(({ payload }) => payload.delta)).toEqual(["one  ", "two\n", "three"]);
  expect(payloadOf(run, "llm_done")).toMatchObject({ model: "scripted", has_tool_use: false });
});

test("does not report an error in a killed thread", async () => {
  const signal = AbortSignal.abort(new Error("killed"));
  expect(await failureOf(scriptedAgent(["plan"])(threadOf({ signal }), ""))).toEqual(
    new Error("killed"),
  );
});
