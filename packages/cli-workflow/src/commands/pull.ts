import { moveBetween } from "../arguments/moving.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .argument(
        "<id>",
        "a thread of the cluster or database that does not run, or @last; a workflow's name; or a bundle's hash",
      )
      .option("--force", "move the name even if it has a version here that is missing there"),
  examples: [
    "uncaged-workflow pull @last --host restate://127.0.0.1",
    "uncaged-workflow pull review --host postgres://app@127.0.0.1/app",
  ],
  run: (session, options: { force?: boolean }, id: string) =>
    moveBetween(session, "pull", id, options),
});
