import type { Command } from "commander";
import { withName } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<name>", "the workflow")
    .argument("[hash]", "the version, or the beginning of its hash; a later one too")
    .action(perform(rollback));
  examples(command, "uncaged-workflow rollback review", "uncaged-workflow rollback review C9NMV6V");
}

async function rollback(
  session: Session,
  _options: unknown,
  name: string,
  hash?: string,
): Promise<void> {
  const moved = await withName(session, name, () => session.host.rollback(name, hash));
  session.show(moved, () =>
    moved.hash === moved.previous
      ? `${moved.name} is at ${moved.hash} already\n`
      : `${moved.name} is now at ${moved.hash}; it was at ${moved.previous}\n`,
  );
}
