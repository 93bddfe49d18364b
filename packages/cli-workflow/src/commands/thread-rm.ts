import type { Command } from "commander";
import { forEachThread } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function defineRemove(command: Command, perform: Perform): void {
  command
    .description("delete threads: their logs, for good")
    .argument("<ids...>", "the threads, or @last")
    .option("--force", "kill a thread first that runs")
    .action(perform(remove));
  examples(command, "uncaged-workflow thread rm @last");
}

async function remove(
  session: Session,
  { force }: { force?: boolean },
  ids: string[],
): Promise<number> {
  return await forEachThread(
    session,
    ids,
    (ref) => session.host.remove(ref, { force: force === true }),
    ({ threadId }) => `deleted ${threadId}`,
  );
}
