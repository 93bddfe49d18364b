import { durable } from "@uncaged/workflow";
import { z } from "zod";
import {
  commandAgent,
  commitOf,
  describe,
  role,
  roleSteps,
  worktree,
} from "../../src/entry/index.ts";

/*
 * A planner, three concurrent coders in their own worktrees, and a merge. The prompt is the script that the coders run.
 */
const shell = (script: string) => commandAgent({ argv: ["sh", "-c", script, "sh", "{prompt}"] });
const schema = z.object({});
const planner = role({
  description: "Plans",
  agent: commandAgent({
    argv: ["sh", "-c", 'printf "%s" "$1" > PLAN.sh; echo planned', "sh", "{prompt}"],
    message: (ctx) => ctx.start.content,
  }),
  systemPrompt: "",
  schema,
});
const coder = role({
  description: "Codes a part",
  agent: shell('. ./PLAN.sh; code "$(printf "%s" "$1" | head -n 1)"; echo coded'),
  systemPrompt: "",
  schema,
});

const whole = worktree();
const own = worktree({ of: "role", from: (ctx) => commitOf(ctx, "planner") });
const roles = { planner: whole(planner), coder: own(coder), merger: whole.merge("coder") };

export const descriptor = { ...describe("Codes in parallel", roles), strict: true };
export const run = durable(async function* (step, input, options) {
  const play = roleSteps(step, input, options);
  yield* play("planner", roles.planner);
  yield* step.all(["1", "2", "3"].map((part) => play("coder", roles.coder, part)));
  const { meta } = yield* play("merger", roles.merger);
  return meta.conflicts.length === 0 ? "merged" : `conflicts in ${meta.conflicts.join(", ")}`;
});
