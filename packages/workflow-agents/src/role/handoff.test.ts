import { describe as group, expect, test } from "bun:test";
import { createRoleModerator, END, type WorkflowError } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import { scriptedAgent } from "../scripted/scripted.ts";
import { handoff } from "./handoff.ts";
import { role } from "./role.ts";

const block = (fields: object) => `So:\n\`\`\`json\n${JSON.stringify(fields)}\n\`\`\``;

/**
 * Returns a workflow with a desk that hands over, and two roles that may hand back. `answers` has the text of each
 * step.
 */
function desks(answers: readonly string[]) {
  const seen: string[] = [];
  const member = <const Name extends string>(name: string, others: readonly Name[]) =>
    role({
      ...{ description: `Is ${name}`, systemPrompt: `I am ${name}` },
      agent: async (ctx, prompt) => {
        seen.push(`${name}: ${ctx.steps.map((step) => step.content.split("\n")[0]).join(", ")}`);
        return await scriptedAgent(answers)(ctx, prompt);
      },
      schema: z.object({ handoff: handoff(others) }),
    });
  const desk = member("desk", ["billing", "repairs"]);
  const billing = member("billing", ["desk"]);
  const repairs = member("repairs", ["desk"]);
  const run = createRoleModerator({
    roles: { desk, billing, repairs },
    // Checks at compile time that `meta.handoff` is one of the moderator's roles.
    moderator: ({ steps }) => (steps.length === 0 ? "desk" : (steps.at(-1)?.meta.handoff ?? END)),
  });
  return { run, seen, desk };
}

async function failureOf(answers: readonly string[]) {
  const outcome = await runThread(desks(answers).run, { prompt: "help" });
  if (outcome.status !== "failed" || !("error" in outcome)) throw new Error(outcome.status);
  return outcome.error as WorkflowError;
}

group("a handoff", () => {
  test("names the next role, which gets the conversation, and the thread ends without a name", async () => {
    const { run, seen } = desks([
      `bill it\n${block({ handoff: "billing" })}`,
      `billed\n${block({ handoff: "desk" })}`,
      `bye\n${block({})}`,
    ]);
    const { steps, status } = await runThread(run, { prompt: "help" });
    expect(status).toBe("completed");
    expect(steps.map((step) => [step.role, step.meta.handoff])).toEqual([
      ["desk", "billing"],
      ["billing", "desk"],
      ["desk", undefined],
    ]);
    expect(seen).toEqual(["desk: ", "billing: bill it", "desk: bill it, billed"]);
  });

  test.each([
    ["nobody", block({ handoff: "nobody" })],
    ["itself", block({ handoff: "desk" })],
    ["two roles in a list", block({ handoff: ["billing", "repairs"] })],
    ["two roles in two code blocks", block({ handoff: "billing" }) + block({ handoff: "repairs" })],
  ])("to %s is requested again, and then fails", async (_name, answer) => {
    const error = await failureOf(Array.from({ length: 5 }, () => answer));
    expect(error.code).toBe("EXTRACTION_FAILED");
  });

  test("describes the roles to the model", () => {
    const { desk } = desks([]);
    const one = role({
      ...{ description: "Leads", systemPrompt: "", agent: async () => "" },
      schema: z.object({ handoff: handoff({ desk, coder: "writes the code" }) }),
    });
    expect(one.descriptor.schema).toMatchObject({
      properties: {
        handoff: {
          enum: ["desk", "coder"],
          description: expect.stringContaining("desk (Is desk), coder (writes the code)"),
        },
      },
    });
    expect(JSON.stringify(one.descriptor.schema)).not.toContain('"handoff","usage"');
  });

  test.each([[[]], [["a", "a"]], [["__end__"]], [[""]]])(
    "of %j is refused at definition",
    (names) => {
      expect(() => handoff(names)).toThrow(/a handoff (names no|can't name the) role/);
    },
  );
});
