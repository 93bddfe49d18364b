import type { Command } from "commander";
import { count, sizeText } from "../output/text.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.option("--dry-run", "show what would go, and move nothing").action(perform(gc));
  examples(command, "uncaged-workflow gc --dry-run");
}

async function gc(session: Session, options: { dryRun?: boolean }): Promise<void> {
  const dryRun = options.dryRun === true;
  const collected = await session.host.collect({ dryRun });
  const { removed, kept, bytes, leftovers } = collected;
  session.show(collected, () => removed.map((hash) => `${hash}\n`).join(""));
  const left = leftovers.length > 0 ? ` and ${count(leftovers.length, "leftover")} of crashes` : "";
  const verb = dryRun ? "would go to the trash" : "moved to the trash";
  session.note(
    `${count(removed.length, "bundle")}${left} ${verb} (${sizeText(bytes)}), ${kept} kept`,
  );
}
