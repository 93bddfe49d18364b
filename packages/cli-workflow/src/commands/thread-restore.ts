import { isoTime, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { isServerUrl } from "../session/server.ts";
import { exitCodes } from "../output/exit-code.ts";

export default defineCommand({
  declare: (command) => command.argument("[id]", "the thread; omit it to list the trash"),
  examples: ["uncaged-workflow thread restore", "uncaged-workflow thread restore 01KQXKW1"],
  async run(session, _options: object, id?: string) {
    const { host } = session;
    if (id !== undefined) {
      const { threadId } = await host.restore(id);
      session.show({ threadId }, () => `restored ${threadId}\n`);
      return exitCodes.done;
    }
    const rows = await host.trash();
    if (rows.length === 0) {
      const { hostKind: kind } = session;
      const isKept = kind === "storage root" || isServerUrl(session.clusterChosen?.url ?? "");
      session.note(isKept ? "no thread in the trash" : `a ${kind} keeps no removed threads`);
    }
    session.list(rows, ({ threadId }) => threadId, [
      { title: "THREAD", cell: ({ threadId }) => threadId },
      { title: "WORKFLOW", cell: ({ workflow }) => oneLine(workflow) },
      { title: "REMOVED", cell: ({ removedAt }) => isoTime(removedAt) },
      { title: "PROMPT", cell: ({ prompt }) => oneLine(prompt).slice(0, 60) },
    ]);
    return exitCodes.done;
  },
});
