import { forEachThread } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("<ids...>", "the threads, or @last")
      .option("--force", "kill a running thread first"),
  examples: ["uncaged-workflow thread rm @last"],
  run: (session, { force = false }: { force?: boolean }, ids: string[]) =>
    forEachThread(
      session,
      ids,
      async (ref) => {
        const removed = await session.host.remove(ref, { force });
        const { threadId, inTrash } = removed;
        const back = `bring it back: uncaged-workflow thread restore ${threadId}`;
        if (inTrash) session.note(`${threadId} is in the trash for at least 7 days; ${back}`);
        return removed;
      },
      ({ threadId }) => `deleted ${threadId}`,
    ),
});
