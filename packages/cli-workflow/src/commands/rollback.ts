import { withName } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("<name>", "the workflow")
      .argument("[hash]", "an earlier or later version: its hash, or the beginning of the hash"),
  examples: ["uncaged-workflow rollback review", "uncaged-workflow rollback review C9NMV6V"],
  async run(session, _options, name: string, version?: string) {
    const moved = await withName(session, name, () => session.host.rollback(name, version));
    const { hash, previous } = moved;
    session.show(moved, () =>
      hash === previous
        ? `${moved.name} is at ${hash} already\n`
        : `${moved.name} is now at ${hash}; it was at ${previous}\n`,
    );
  },
});
