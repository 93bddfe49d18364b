import { createRoleModerator, END, type ThreadContext } from "@uncaged/workflow";
import { z } from "zod";
import {
  anthropicAgent,
  commandAgent,
  commitOf,
  describe,
  editFile,
  listFiles,
  readFile,
  role,
  runCommand,
  toolRegistry,
  worktree,
  writeFile,
} from "../../src/entry/index.ts";

/*
 * A team that codes in a git repository: a planner in the thread's worktree, two coders in separate worktrees, of which
 * one is a command, a merge of the coders' commits, and a reviewer of the merged files.
 */
const tools = toolRegistry([readFile, writeFile, editFile, listFiles, runCommand()]);
const agent = anthropicAgent({ model: "claude-opus-5-5", tools, maxRetries: 0 });
const schema = z.object({});

const planner = role({ description: "Plans", agent, systemPrompt: "You plan.", schema });
const alice = role({
  description: "Codes the parser",
  agent,
  systemPrompt: "You are Alice.",
  schema,
});
const bob = role({
  description: "Codes the printer",
  agent: commandAgent({
    argv: ["sh", "-c", "cat > /dev/null; . ./PLAN.sh; bob; git log --oneline | wc -l"],
  }),
  systemPrompt: "",
  schema,
});
const reviewer = role({ description: "Reviews", agent, systemPrompt: "You review.", schema });

const whole = worktree();
const own = worktree({
  of: "role",
  from: (ctx: ThreadContext) => commitOf(ctx, "merger") ?? commitOf(ctx, "planner"),
});

const roles = {
  planner: whole(planner),
  alice: own(alice),
  bob: own(bob),
  merger: whole.merge("alice", "bob"),
  reviewer: whole(reviewer),
};
const order = Object.keys(roles) as (keyof typeof roles)[];

export const descriptor = { ...describe("Codes in a team", roles), strict: true };
export const run = createRoleModerator({
  roles,
  moderator: ({ steps }) => order[steps.length] ?? END,
});
