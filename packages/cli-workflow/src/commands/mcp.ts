import { keepAwake } from "@uncaged/workflow/internal";
import { Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { defineCommand } from "../session/command.ts";

type Options = { readOnly?: boolean; allowApprove?: boolean };

const { version } = manifest;

export default defineCommand({
  declare: (command) =>
    command
      .option("--read-only", "offer only the tools that change nothing")
      .addOption(
        new Option(
          "--allow-approve",
          "let the model approve: answer questions that ask for a decision",
        ).conflicts("readOnly"),
      ),
  examples: [
    "claude mcp add uncaged -- uncaged-workflow mcp",
    "uncaged-workflow mcp --root .uncaged --read-only",
  ],
  async run(session, { readOnly = false, allowApprove = false }: Options) {
    const { host, env, cwd } = session;
    const signal = session.termination();
    const { serveMcp } = await import("@uncaged/workflow-server/mcp");
    const rest = readOnly ? () => undefined : keepAwake(host, env);
    const role = readOnly ? "read" : "operate";
    await serveMcp({ ...{ host, env, cwd, version }, role, allowApprove }, signal);
    rest();
  },
});
