import { withName } from "../arguments/names.ts";
import { ago, isoTime } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) => command.argument("<name>", "the workflow"),
  examples: ["uncaged-workflow history review"],
  async run(session, _options, name: string) {
    const rows = await withName(session, name, () => session.host.history(name));
    const now = Date.now();
    session.list(rows, ({ hash }) => hash, [
      { title: " ", cell: ({ current }) => (current ? "*" : ""), style: () => "green" },
      { title: "HASH", cell: ({ hash }) => hash, style: (row) => (row.current ? "bold" : null) },
      { title: "THREADS", cell: ({ threads }) => String(threads), right: true },
      { title: "ADDED", cell: ({ timestamp: at }) => `${ago(at, now)}  ${isoTime(at)}` },
    ]);
  },
});
