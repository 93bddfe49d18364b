import type { Command } from "commander";
import { forEachThread } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.argument("<ids...>", "the threads, or @last").action(perform(pause));
  examples(command, "uncaged-workflow pause @last");
}

async function pause(session: Session, _options: unknown, ids: string[]): Promise<number> {
  return await forEachThread(
    session,
    ids,
    (ref) => session.host.control(ref, { kind: "pause" }),
    ({ threadId }) => `paused ${threadId}; it stops after the step it is at`,
  );
}
