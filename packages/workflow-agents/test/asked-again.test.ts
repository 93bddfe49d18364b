import { expect, test } from "bun:test";
import { type AgentFn, createRoleModerator, END } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { role } from "../src/role/role.ts";

/** Returns an agent with scripted answers, and the steps that the agent gets in each call. */
function answering(...answers: string[]) {
  const seen: string[][] = [];
  const agent: AgentFn = async ({ steps }) => {
    seen.push(steps.map((step) => `${step.role}: ${step.content}`));
    return answers[seen.length - 1] ?? "";
  };
  return { agent, seen };
}

const schema = z.object({ files: z.array(z.string()) });

async function play(agent: AgentFn, more: { repairs?: number } = {}) {
  const planner = role({ description: "", systemPrompt: "You plan.", agent, schema, ...more });
  const run = createRoleModerator({
    roles: { planner },
    moderator: ({ steps }) => (steps.length === 0 ? "planner" : END),
  });
  return await runThread(run);
}

const broken = 'So:\n```json\n{"files": ["a.ts"],}\n```';

test("an agent whose answer does not fit the schema is called again, with the answer and its problems", async () => {
  const { agent, seen } = answering(broken, '{"files":["a.ts"]}');
  const { status, steps } = await play(agent);
  expect(status).toBe("completed");
  expect(steps).toMatchObject([{ content: '{"files":["a.ts"]}', meta: { files: ["a.ts"] } }]);
  expect(seen[1]?.[0]).toBe(`planner: ${broken}`);
  expect(seen[1]?.[1]).toStartWith("check: The answer does not fit the JSON Schema:");
});

test("an agent is called again at most twice for one answer, and never with `repairs: 0`", async () => {
  const still = answering(broken, broken, broken, '{"files":[]}');
  expect(await play(still.agent)).toMatchObject({ error: { code: "EXTRACTION_FAILED" } });
  expect(still.seen.map(({ length }) => length)).toEqual([0, 2, 4]);
  const strict = answering(broken, '{"files":[]}');
  expect(await play(strict.agent, { repairs: 0 })).toMatchObject({ status: "failed" });
  expect(strict.seen).toHaveLength(1);
});
