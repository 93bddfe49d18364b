import skill from "../skill/SKILL.md.template" with { type: "text" };
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onCluster: "unused",
  examples: [
    "mkdir -p .claude/skills/uncaged-workflow",
    "uncaged-workflow skill > .claude/skills/uncaged-workflow/SKILL.md",
  ],
  async run(session) {
    session.show({ skill }, () => skill);
  },
});
