import type { Command } from "commander";
import { withName } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.argument("<name>", "the workflow").action(perform(remove));
  examples(command, "uncaged-workflow remove review");
}

async function remove(session: Session, _options: unknown, name: string): Promise<void> {
  const removed = await withName(session, name, () => session.host.unregister(name));
  session.show(removed, () => `removed ${removed.name}; its threads and their bundles stay\n`);
}
