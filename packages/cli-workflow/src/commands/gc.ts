import { count, sizeText } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) => command.option("--dry-run", "show what would go, and move nothing"),
  examples: ["uncaged-workflow gc --dry-run"],
  async run(session, { dryRun = false }: { dryRun?: boolean }) {
    const collected = await session.host.collect({ dryRun });
    const { removed, kept, bytes, leftovers } = collected;
    session.show(collected, () => removed.map((hash) => `${hash}\n`).join(""));
    const left =
      leftovers.length > 0 ? ` and ${count(leftovers.length, "leftover")} of crashes` : "";
    const verb = dryRun ? "would go to the trash" : "moved to the trash";
    const bundles = count(removed.length, "bundle");
    session.note(`${bundles}${left} ${verb} (${sizeText(bytes)}), ${kept} kept`);
  },
});
