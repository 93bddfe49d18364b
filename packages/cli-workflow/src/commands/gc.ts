import { basename } from "node:path";
import { isTrashedThread } from "@uncaged/workflow/internal";
import { count, oneLine, sizeText } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .option("--dry-run", "show the unused bundles, and move nothing")
      .option("--trash", "delete threads that were removed more than 7 days ago"),
  examples: ["uncaged-workflow gc --dry-run", "uncaged-workflow gc --trash"],
  async run(session, { dryRun = false, trash = false }: { dryRun?: boolean; trash?: boolean }) {
    const collected = await session.host.collect({ dryRun, trash });
    const { removed, kept, bytes, leftovers } = collected;
    session.show(collected, () => removed.map((hash) => `${hash}\n`).join(""));
    const left =
      leftovers.length > 0 ? ` and ${count(leftovers.length, "leftover")} of crashes` : "";
    // Clusters and databases have no trash.
    const isRoot = session.hostKind === "storage root";
    const done = isRoot ? "moved to the trash" : "deleted";
    const verb = dryRun ? (isRoot ? "would be moved to the trash" : "would be deleted") : done;
    const bundles = count(removed.length, "bundle");
    if (trash) {
      const threads = collected.emptied.filter((path) => isTrashedThread(basename(path)));
      const gone = dryRun ? "would be deleted" : "deleted";
      session.note(`${count(threads.length, "removed thread")} ${gone} from the trash`);
    }
    const again = trash ? "gc --trash" : "gc";
    for (const { path, message } of collected.problems) {
      session.note(
        `warning: ${path} was not deleted: ${oneLine(message)}; fix the problem, then: uncaged-workflow ${again}`,
      );
    }
    session.note(`${bundles}${left} ${verb} (${sizeText(bytes)}), ${kept} kept`);
  },
});
