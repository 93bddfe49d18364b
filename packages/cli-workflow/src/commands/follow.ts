import type { Command } from "commander";
import { followThread } from "../follow/follow.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.argument("<id>", "the thread, or @last").action(perform(follow));
  examples(
    command,
    "uncaged-workflow follow @last",
    "uncaged-workflow follow @last --json | jq .kind",
  );
}

async function follow(session: Session, _options: unknown, id: string): Promise<number> {
  return await followThread(session, await session.host.find(id));
}
