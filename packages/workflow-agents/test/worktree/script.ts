import { createRoleModerator, END } from "@uncaged/workflow";
import { z } from "zod";
import { commandAgent, describe, role, worktree } from "../../src/entry/index.ts";

/* Runs two scripts in the thread's worktree, one in each step: the prompt, and the file `second` in `HOME`. */
const schema = z.object({});
const spec = { description: "Runs a script", systemPrompt: "", schema };
const tree = worktree();
const first = tree(
  role({
    ...spec,
    agent: commandAgent({ argv: ["sh"], message: ({ start }) => `${start.content}\necho done` }),
  }),
);
const second = tree(
  role({ ...spec, agent: commandAgent({ argv: ["sh", "-c", '. "$HOME/second" && echo done'] }) }),
);

export const descriptor = { ...describe("Runs two scripts", { first, second }), strict: true };
export const run = createRoleModerator({
  roles: { first, second },
  moderator: ({ steps }) => (["first", "second"] as const)[steps.length] ?? END,
});
