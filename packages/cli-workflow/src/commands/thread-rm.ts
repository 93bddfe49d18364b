import { forEachThread } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("<ids...>", "the threads, or @last")
      .option("--force", "kill a thread first that runs"),
  examples: ["uncaged-workflow thread rm @last"],
  run: (session, { force = false }: { force?: boolean }, ids: string[]) =>
    forEachThread(
      session,
      ids,
      (ref) => session.host.remove(ref, { force }),
      ({ threadId }) => `deleted ${threadId}`,
    ),
});
