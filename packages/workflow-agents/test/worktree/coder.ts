import { createRoleModerator, END } from "@uncaged/workflow";
import { z } from "zod";
import {
  anthropicAgent,
  describe,
  listFiles,
  role,
  runCommand,
  toolRegistry,
  worktree,
  writeFile,
} from "../../src/entry/index.ts";

/* A role with a model and tools, in a worktree. A person approves each call of `listFiles`. */
const tools = toolRegistry([writeFile, listFiles, runCommand()], {
  approve: (name) => name === listFiles.name,
});
const coder = worktree({ of: "role" })(
  role({
    description: "Codes",
    agent: anthropicAgent({ model: "claude-opus-5-5", tools, maxRetries: 0 }),
    systemPrompt: "You code.",
    schema: z.object({}),
  }),
);
export const descriptor = describe("Codes", { coder });
export const run = createRoleModerator({
  roles: { coder },
  moderator: ({ steps }) => (steps.length > 0 ? END : "coder"),
});
