import { type AllOptions, checkAll, stopEverything } from "../arguments/everything.ts";
import { forEachThread, noteOrphans } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("[ids...]", "the threads, or @last")
      .option("--all", "all threads of the storage root that have not ended, after a confirmation")
      .option("--yes", "with --all: kill without a confirmation")
      .option("--force", "end a worker that does not answer; its other threads are resumed"),
  examples: ["uncaged-workflow kill @last", "uncaged-workflow kill --all"],
  run(session, options: AllOptions & { force?: boolean }, ids: string[]) {
    const { force = false } = options;
    checkAll(options, ids);
    const { env } = session;
    if (options.all) return stopEverything(session, { kind: "kill", force, env }, options);
    return forEachThread(
      session,
      ids,
      async (ref) => {
        const done = await session.host.control(ref, { kind: "kill", force, env });
        noteOrphans(session, done);
        return done;
      },
      ({ threadId, resumed }) =>
        [`killed ${threadId}`, ...resumed.map((id) => `resumed ${id}`)].join("\n"),
    );
  },
});
