import { forEachThread, noteOrphans } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("<ids...>", "the threads, or @last")
      .option("--force", "end a worker that does not answer; its other threads are resumed"),
  examples: ["uncaged-workflow kill @last", "uncaged-workflow kill $(uncaged-workflow ps -q)"],
  run: (session, { force = false }: { force?: boolean }, ids: string[]) =>
    forEachThread(
      session,
      ids,
      async (ref) => {
        const done = await session.host.control(ref, { kind: "kill", force, env: session.env });
        noteOrphans(session, done);
        return done;
      },
      ({ threadId, resumed }) =>
        [`killed ${threadId}`, ...resumed.map((id) => `resumed ${id}`)].join("\n"),
    ),
});
