import { moveBetween } from "../arguments/moving.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command
      .argument(
        "<id>",
        "a thread that does not run, or @last; a workflow's name; or a bundle's hash",
      )
      .option("--force", "move the name even if it has a version there that is missing here"),
  examples: [
    "uncaged-workflow push @last --host restate://127.0.0.1",
    "uncaged-workflow push review --host postgres://app@127.0.0.1/app",
  ],
  run: (session, options: { force?: boolean }, id: string) =>
    moveBetween(session, "push", id, options),
});
