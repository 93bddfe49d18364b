import { withName } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) => command.argument("<name>", "the workflow"),
  examples: ["uncaged-workflow remove review"],
  async run(session, _options, name: string) {
    const removed = await withName(session, name, () => session.host.unregister(name));
    session.show(
      removed,
      () => `removed ${removed.name}; its threads and their bundles are kept\n`,
    );
  },
});
