import { createRoleModerator, END } from "@uncaged/workflow";

export const descriptor = {
  description: "one role",
  roles: { coder: { description: "codes", schema: {} } },
};

export const run = createRoleModerator<{ coder: Record<string, never> }>({
  roles: { coder: async () => ({ content: "done", meta: {} }) },
  moderator: ({ steps }) => (steps.length === 0 ? "coder" : END),
});
