import { expect, test } from "bun:test";
import { fixtureOf, type ThreadView } from "@uncaged/workflow/host";
import { recordedInput } from "@uncaged/workflow/internal";
import { runThread } from "@uncaged/workflow/testing";
import type { Step } from "@uncaged/workflow";
import { type GraphAgents, graphBundle } from "../src/entry/index.ts";
import { agent, approval, lines, start } from "./drawn.ts";

/* A graph with a loop through an approval and two concurrent agents, replayed from its own fixture. */
const nodes = [start("s"), agent("a"), agent("b"), approval("p"), agent("c")];
const connections = lines("s -> a, b; a -> p; b -> p; p -reject-> a; p -approve-> c");
let asked = 0;
const counting: GraphAgents = async ({ nodeId }) => ({
  output: `${nodeId} ${(asked += 1)}`,
  model: "m",
  usage: {
    input_tokens: 1,
    output_tokens: 1,
    thinking_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
  },
  cost: 1,
});

test("a fixture answers the agents of a graph, each run of a node with its own answer", async () => {
  const { run } = graphBundle({ nodes, connections }, { agents: counting });
  const answers = [{ content: "again", meta: { value: { decision: "reject" } } }, "yes"];
  const first = await runThread(run, { prompt: "go", answers });
  expect(first.status).toBe("completed");
  const before = asked;
  const view = {
    ...first,
    status: "completed",
    threadId: "T",
    workflow: "w",
    hash: "H",
    prompt: "go",
  };
  const fixture = fixtureOf(view as unknown as ThreadView);
  const log: Step[] = [];
  const second = await runThread(run, {
    prompt: "go",
    options: { fixture },
    answers(wait) {
      log.push(wait);
      const given = recordedInput(fixture, log);
      if (!given) return undefined;
      const { content, meta, value } = given;
      return { content, meta: { ...meta, ...(value !== undefined && { value }) } };
    },
  });
  expect(asked).toBe(before);
  const shown = (steps: Step[]) => steps.map(({ role, content }) => `${role}: ${content}`).sort();
  expect(shown(second.steps)).toEqual(shown(first.steps));
  expect(second.steps.some(({ meta }) => "cost" in meta || "usage" in meta)).toBe(false);
});
