import { isListing } from "../arguments/listed.ts";
import { ago, oneLine, shortHash } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  examples: ["uncaged-workflow list", "uncaged-workflow list --json | jq -r '.[].name'"],
  async run(session) {
    const rows = await session.host.workflows();
    if (rows.length === 0) {
      const advice = isListing(session)
        ? "add the project's workflows: uncaged-workflow add"
        : "add one: uncaged-workflow add <name> <file>";
      session.note(`no workflows yet; ${advice}`);
    }
    const { terminal } = session.look;
    const now = Date.now();
    session.list(rows, ({ name }) => name, [
      { title: "NAME", cell: ({ name }) => name, style: () => "bold" },
      { title: "HASH", cell: ({ hash }) => (terminal ? shortHash(hash) : hash) },
      { title: "ADDED", cell: ({ timestamp }) => ago(timestamp, now) },
      { title: "VERSIONS", cell: ({ versions }) => String(versions), right: true },
      { title: "DESCRIPTION", cell: ({ description }) => oneLine(description) },
    ]);
  },
});
