import { afterEach, describe, expect, test } from "bun:test";
import { z } from "zod";
import { tool } from "../src/tools/tools.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { allModels, type Model, threadAt } from "./models.ts";
import { agentEventsOf, observed } from "./published.ts";
import type { Reply, ReplyTool } from "./wire.ts";

/* Tools that do what they should not, and calls that break a tool's schema: the model reads what is wrong, and goes on. */
let stop: (() => Promise<void>) | null = null;
afterEach(async () => await stop?.());

/** What a model's agent comes to that makes these calls in one turn each, and the requests that it made. */
async function played(model: Model, tools: ReturnType<typeof tool>[], turns: ReplyTool[][]) {
  const replies: Reply[] = turns.map((calls) => ({ text: "Now.", tools: calls }));
  const server = await model.serve([...replies, { text: "Done." }]);
  ({ stop } = server);
  const agent = model.agent({ tools: toolRegistry(tools, { timeoutMs: 50 }) });
  const run = await observed(() => agent(threadAt(model, server, { cwd: "/" }), "You work."));
  expect([run.error, run.text]).toEqual([null, "Done."]);
  const results = agentEventsOf(run).filter(({ type }) => type === "llm_tool_result");
  return {
    results: results.map(({ payload }) => payload),
    bodies: server.came.map(({ body }) => JSON.stringify(body)),
  };
}

const deep = (depth: number) => `{"n": ${"[".repeat(depth)}${"]".repeat(depth)}}`;
const brokenInputs = {
  nothing: "",
  "no JSON": '{"n": 1',
  "a list": "[1]",
  null: "null",
  "a text": '"n"',
  "a number": "7",
  "another type": '{"n": "1"}',
  "no field": "{}",
  "a number that is too large": '{"n": 1e999}',
  "a fraction": '{"n": 1.5}',
  "a prototype": '{"__proto__": {"n": 1}, "constructor": 1}',
  "what is 2,000 levels deep": deep(2000),
  "a long text": JSON.stringify({ n: "x".repeat(1e5) }),
  "a lone half of a character": '{"n": "\\ud800"}',
};

describe.each(allModels)("over $name", (model) => {
  test("an input that breaks its schema never reaches the tool, and each is answered", async () => {
    let calls = 0;
    const count = tool({
      ...{ name: "count", description: "Counts", input: z.object({ n: z.int() }) },
      execute: () => (calls += 1),
    });
    const turns = Object.values(brokenInputs).map((json) => [{ name: "count", json }]);
    const { results } = await played(model, [count], turns);
    expect(results.map(({ is_error }) => is_error)).toEqual(turns.map(() => true));
    for (const { content } of results)
      expect(String(content)).toMatch(/count was not run|arguments of count/);
    expect(calls).toBe(0);
  });

  test("a tool that changes what it was given changes nothing that the model has said", async () => {
    const input = z.object({ data: z.record(z.string(), z.unknown()), list: z.unknown() });
    const spoil = ({ data, list }: z.infer<typeof input>): void => {
      (data.inner as { n: number }).n = 666;
      (list as number[]).push(666);
    };
    const change = tool({
      ...{ name: "change", description: "Changes", input },
      approve(given) {
        spoil(given);
        return false;
      },
      execute: (given) => spoil(given),
    });
    const given = { data: { inner: { n: 1 } }, list: [1] };
    const { results, bodies } = await played(model, [change], [[{ name: "change", input: given }]]);
    expect(results.map(({ is_error }) => is_error)).toEqual([false]);
    expect(bodies).toHaveLength(2);
    expect(bodies.join("")).not.toContain("666");
  });

  test("a tool that hangs, and one whose result is 100 MB, hold the model up for no longer than they may", async () => {
    const input = z.object({});
    const hang = tool({
      ...{ name: "hang", description: "Hangs", input },
      execute: () => new Promise(() => undefined),
    });
    const print = tool({
      ...{ name: "print", description: "Prints", input },
      execute: () => "x".repeat(1e8),
    });
    const { results, bodies } = await played(
      model,
      [hang, print],
      [[{ name: "hang" }, { name: "print" }]],
    );
    const texts = results.map(({ content }) => String(content)).sort();
    expect(texts[0]).toStartWith("the tool hang was stopped after 50 ms");
    expect(texts[1]).toContain("[truncated: the first 100000 of 100000000 characters]");
    expect(bodies[1]?.length).toBeLessThan(110_000);
  });
});
