import manifest from "../../package.json" with { type: "json" };
import { manualPage } from "../manual/manual.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onCluster: "unused",
  examples: [],
  async run(session) {
    const { command, load } = session.called;
    const program = command.parent ?? command;
    for (const each of program.commands) if (each !== command) await load(each);
    const page = manualPage(program, manifest.version);
    session.show({ page }, () => page);
  },
});
