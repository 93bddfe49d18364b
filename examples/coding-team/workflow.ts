// A team that codes in a git repository: a planner divides the work, and coders do their parts concurrently, each in a
// separate git worktree. Their work is merged and tested, and a reviewer reads it. A person then decides whether to
// merge it into the current branch. Until then the checkout does not change.
//
//     uncaged-workflow add coding-team examples/coding-team/workflow.ts
//     sh examples/coding-team/make-repository.sh /tmp/words && cd /tmp/words
//     uncaged-workflow run coding-team --prompt 'Write what the tests ask for' --follow
//     uncaged-workflow resume @last --input true --follow
//
// These commands play a script, without a model. To use an agent: `--option agent=anthropic` (or openai, claude-code,
// codex, cursor). To choose its model: `--option model=NAME`.
import { durable } from "@uncaged/workflow";
import { commitOf, describe, role, roleSteps, worktree } from "@uncaged/workflow-agents";
import { z } from "zod";
import { player } from "../player.ts";
import { tester, testerEntry } from "../solve-issue/tester.ts";
import { changes, mergeInto } from "./git.ts";
import { script } from "./script.ts";

const most = 3;
const parts = z
  .array(z.string())
  .describe("the task of each coder, with the files that it changes");

const planner = role({
  description: "Divides the work into parts",
  agent: player("reads", script),
  systemPrompt: `You plan how to do what you are asked, in the git repository in your working directory. Read what you need;
change nothing. Divide the work into at most ${most} parts that can be done at the same time. No two parts may change the same file.`,
  schema: z.object({ parts: parts.min(1).max(most) }),
});

const coder = role({
  description: "Does one part",
  agent: player("writes", script),
  systemPrompt: `You code one part of a change, in your working directory. Others code the other parts at the same time. Change
only the files of your part, and no tests. Say in a line what you changed.`,
  schema: z.object({ changed: z.array(z.string()).describe("the files that you changed") }),
});

const resolver = role({
  description: "Resolves conflicts",
  agent: player("writes", script),
  systemPrompt:
    "You resolve the conflicts of a merge. Remove all of git's conflict marks from the named files.",
  schema: z.object({ resolved: z.array(z.string()) }),
});

const reviewer = role({
  description: "Reads the whole change, and approves it or names what must be fixed",
  agent: player("reads", script),
  systemPrompt: `You review the change in your working directory; git log shows its commits. The tests pass.
Approve the change if it does only what was requested; otherwise name the necessary fixes, by part.`,
  schema: z.object({ approved: z.boolean(), fix: parts }),
});

const whole = worktree();
const own = worktree({
  of: "role",
  from: (ctx) => commitOf(ctx, "merger") ?? commitOf(ctx, "planner"),
});

const roles = {
  planner: whole(planner),
  coder: own(coder),
  merger: whole.merge("coder"),
  resolver: whole(resolver),
  tester: whole(Object.assign(tester, { descriptor: testerEntry })),
  reviewer: whole(reviewer),
};

export const descriptor = describe("Codes in a team, and merges the work that a person approves", {
  ...roles,
  changes: { description: "Shows the changes of the team", schema: true },
  release: { description: "Merges the work into the current branch", schema: true },
});

export const run = durable(async function* (step, input, options) {
  const play = roleSteps(step, input, options);
  const plan = yield* play("planner", roles.planner);
  const { base } = plan.meta.worktree;
  let { branch } = plan.meta.worktree;
  let todo = plan.meta.parts;
  for (let round = 1; round <= most; round += 1) {
    yield* step.all(todo.map((part) => play("coder", roles.coder, part)));
    const { conflicts } = (yield* play("merger", roles.merger)).meta;
    if (conflicts.length > 0) yield* play("resolver", roles.resolver, conflicts.join("\n"));
    const test = yield* play("tester", roles.tester);
    // A fork has its own branches.
    ({ branch } = test.meta.worktree);
    const review = test.meta.passed ? (yield* play("reviewer", roles.reviewer)).meta : null;
    if (review?.approved) {
      const made = yield* step("changes", (here) => changes(here, base, branch));
      const question = `${made}\n\nMerge the work into the current branch? true or false`;
      const { value } = yield* step.wait<boolean>("approval", {
        content: question,
        schema: { type: "boolean" },
      });
      if (!value) return `not merged: the work is in ${branch}`;
      yield* step("release", (here) => mergeInto(here, branch));
      return `merged in ${round === 1 ? "1 round" : `${round} rounds`}`;
    }
    todo = review?.fix ?? [`Have the tests pass:\n${test.content}`];
  }
  return {
    returnCode: 1,
    summary: `not done after ${most} rounds: see ${branch}`,
  };
});
