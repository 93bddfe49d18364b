import type { Command } from "commander";
import { forEachThread } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<ids...>", "the threads, or @last")
    .option("--force", "end a worker that does not answer; its other threads are resumed")
    .action(perform(kill));
  examples(
    command,
    "uncaged-workflow kill @last",
    "uncaged-workflow kill $(uncaged-workflow ps -q)",
  );
}

async function kill(
  session: Session,
  { force }: { force?: boolean },
  ids: string[],
): Promise<number> {
  return await forEachThread(
    session,
    ids,
    (ref) => session.host.control(ref, { kind: "kill", force: force === true, env: session.env }),
    ({ threadId, resumed }) =>
      [`killed ${threadId}`, ...resumed.map((id) => `resumed ${id}`)].join("\n"),
  );
}
