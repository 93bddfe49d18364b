// An agent team that solves an issue in a git repository: a planner, a coder, a tester that runs the tests, and a
// reviewer. The team repeats its work until the tests pass and the reviewer approves, or until the thread reaches its
// maximum number of rounds.
//
//     uncaged-workflow add solve-issue examples/solve-issue/workflow.ts
//     sh examples/solve-issue/make-repository.sh /tmp/median && cd /tmp/median
//     uncaged-workflow run solve-issue --prompt 'median() is wrong for [4, 1, 3, 2]' --follow
//
// These commands play a script, without a model. To use an agent: `--option agent=anthropic` (or openai, claude-code,
// codex, cursor). To choose its model: `--option model=NAME`.
import { createRoleModerator, END } from "@uncaged/workflow";
import { describe, role } from "@uncaged/workflow-agents";
import { z } from "zod";
import { player } from "../player.ts";
import { script } from "./script.ts";
import { tester, testerEntry } from "./tester.ts";

const planner = role({
  description: "Reads the repository and plans the change",
  agent: player("reads", script),
  systemPrompt: `You plan how to solve the issue that you are given, in the git repository in your working directory.
Read what you need; change nothing. Say in a few lines what is wrong and how to change it.`,
  schema: z.object({ files: z.array(z.string()).describe("the files to change") }),
  answer: "text",
});

const coder = role({
  description: "Changes the files",
  agent: player("writes", script),
  systemPrompt: `You solve the issue by changing files in your working directory, as planned. Keep the change small.
Do not change tests. If the tests failed or the reviewer rejected the change, fix the named faults.
Say in a few lines what you changed.`,
  schema: z.object({ changed: z.array(z.string()).describe("the files that you changed") }),
  answer: "text",
});

const reviewer = role({
  description: "Reads the change and approves it or names what must be fixed",
  agent: player("reads", script),
  systemPrompt: `You review the change that the coder made in your working directory: see it with git diff. The tests pass.
Approve the change if it only solves the issue; otherwise name the necessary fixes.`,
  schema: z.object({ approved: z.boolean(), fix: z.array(z.string()) }),
});

export const descriptor = describe("Solves an issue in a git repository", {
  planner,
  coder,
  tester: testerEntry,
  reviewer,
});

export const run = createRoleModerator({
  roles: { planner, coder, tester, reviewer },
  moderator({ steps }) {
    const last = steps.at(-1);
    switch (last?.role) {
      case undefined:
        return "planner";
      case "coder":
        return "tester";
      case "tester":
        return last.meta.passed ? "reviewer" : "coder";
      case "reviewer":
        return last.meta.approved ? END : "coder";
      default:
        return "coder";
    }
  },
  summary({ steps }) {
    const rounds = steps.filter((step) => step.role === "coder").length;
    return `solved in ${rounds === 1 ? "1 round" : `${rounds} rounds`}: see git diff`;
  },
});
