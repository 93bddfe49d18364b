import { text } from "node:stream/consumers";
import { defineSubcommand } from "../session/command.ts";

/* Programs that a step's agent can start. The arguments of the agent contain their command lines. */

export const stepTools = defineSubcommand({
  summary: "serve the tools of a step over MCP",
  onCluster: "unused",
  declare: (command) => command.requiredOption("--folder <dir>", "the folder of the step"),
  examples: [],
  async run(session, { folder }: { folder: string }) {
    const { serveStepTools } = await import("@uncaged/workflow-plan/tools");
    await serveStepTools(folder, session.env);
  },
});

export const commandGuard = defineSubcommand({
  summary: "refuse a call that an agent must not make",
  onCluster: "unused",
  examples: [],
  async run(session) {
    const { guardCall } = await import("@uncaged/workflow-plan/tools");
    const { exitCode, message } = guardCall(await text(process.stdin), session.env);
    if (message !== "") session.note(message);
    return exitCode;
  },
});
