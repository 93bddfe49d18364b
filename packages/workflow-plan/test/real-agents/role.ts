import { createRoleModerator, END } from "@uncaged/workflow";
import { claudeCode, commandAgent, describe, role } from "@uncaged/workflow-agents";
import { z } from "zod";

/* A workflow whose roles are commands that require a sandbox. */
const options = { sandbox: "required" } as const;
const look = "pwd; ls -A ~ $LOOK_AT; echo made > made; echo planted > .git/hooks/pre-commit; true";

const looker = role({
  description: "Looks around",
  agent: commandAgent({ argv: ["sh", "-c", `(${look}) 2>&1`], env: ["LOOK_AT"], ...options }),
  systemPrompt: "",
  schema: z.object({}),
});

const coder = role({
  description: "Works as Claude Code",
  agent: claudeCode({ args: ["--allowedTools", "Bash"], ...options }),
  systemPrompt: "",
  schema: z.object({}),
});

export const descriptor = describe("Looks around and works", { looker, coder });

export const run = createRoleModerator({
  roles: { looker, coder },
  moderator: ({ steps }) => (["looker", "coder", "coder"] as const)[steps.length] ?? END,
});
