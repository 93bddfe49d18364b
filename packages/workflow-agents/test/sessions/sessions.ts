import { durable } from "@uncaged/workflow";
import { z } from "zod";
import { claudeCode, describe, role, roleSteps } from "../../src/index.ts";

/* A role that plays three members of a parallel group, twice. */
const coder = role({
  ...{ description: "Codes", systemPrompt: "You do your part.", schema: z.object({}) },
  agent: claudeCode({ args: ["--allowedTools", "Bash"], graceMs: 1000 }),
});

export const descriptor = describe("Three code", { coder });
export const run = durable(async function* (step, input, options) {
  const play = roleSteps(step, input, options);
  const parts = ["a", "b", "c"];
  yield* step.all(parts.map((part) => play("coder", coder, `part ${part}`)));
  yield* step.all(parts.map((part) => play("coder", coder, `part ${part}, once more`)));
  return "done";
});
