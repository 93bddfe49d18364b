import { findThread } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { followLive } from "../follow/follow.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

export function define(command: Command, perform: Perform): void {
  command.argument("<id>", "the thread, or @last").action(perform(follow));
  examples(
    command,
    "uncaged-workflow follow @last",
    "uncaged-workflow follow @last --json | jq .kind",
  );
}

async function follow(session: Session, _options: unknown, id: string): Promise<number> {
  return await followLive(session, await findThread(session.root, id));
}
