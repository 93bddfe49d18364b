import { afterEach, expect, test } from "bun:test";
import { createRoleModerator, durable, type WorkflowFn } from "@uncaged/workflow";
import { fixtureOf, type ThreadView } from "@uncaged/workflow/host";
import { runThread } from "@uncaged/workflow/testing";
import { role, roleSteps } from "@uncaged/workflow-agents";
import { z } from "zod";
import { type Model, models } from "../../workflow-agents/test/models.ts";
import { defaultAdapters } from "../src/adapters/adapters.ts";
import { stepsBundle } from "../src/index.ts";

/* Threads of models that are answered by a fixture: the server counts that none is asked. */
const ends: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

const play = ({ agent }: Model) =>
  role({ description: "", agent: agent(), systemPrompt: "", schema: z.object({}) });

const kinds: Record<string, (one: Model) => WorkflowFn> = {
  roles: (one) =>
    createRoleModerator({
      roles: { planner: play(one), coder: play(one) },
      moderator: ({ steps }) => (["planner", "coder"] as const)[steps.length] ?? "__end__",
    }),
  "durable code": (one) =>
    durable(async function* (step, input, options) {
      const roles = roleSteps(step, input, options);
      yield* roles("planner", play(one));
      yield* step.all([roles("coder", play(one), "a"), roles("coder", play(one), "b")]);
      return "done";
    }),
  "a step workflow": ({ name }) =>
    stepsBundle(
      {
        version: "3.18",
        name: "asks",
        registry: { vars: ["$text(STRING)"] },
        steps: [
          {
            id: "LLM_Ask",
            in: { model: `${name}/claude-opus-5-5`, prompt: "Sum." },
            out: "$text",
            next: "RETURN",
          },
        ],
      },
      { adapters: (options) => defaultAdapters({ options }) },
    ).run,
};

test.each(
  models.flatMap((one) => Object.keys(kinds).map((kind) => [one.name, kind, one] as const)),
)("%s: %s asks no model where a fixture answers", async (_, kind, one) => {
  const server = await one.serve([{ text: "{}" }]);
  ends.push(server.stop);
  const run = kinds[kind]?.(one) as WorkflowFn;
  const given = { prompt: "go", env: one.env(server) };
  const first = await runThread(run, given);
  expect(first).toMatchObject({ status: "completed" });
  const asked = server.came.length;
  expect(asked).toBeGreaterThan(0);
  const known = { threadId: "T", workflow: "w", hash: "H", prompt: "go", status: "completed" };
  const fixture = fixtureOf({ ...first, ...known } as unknown as ThreadView);
  const second = await runThread(run, { ...given, options: { fixture } });
  expect(second).toMatchObject({ status: "completed" });
  expect(second.steps.map((step) => step.role)).toEqual(first.steps.map((step) => step.role));
  expect(server.came).toHaveLength(asked);
  // The same server counts a thread without a fixture.
  await runThread(run, given);
  expect(server.came).toHaveLength(2 * asked);
});
