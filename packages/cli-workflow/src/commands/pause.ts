import { type AllOptions, checkAll, stopEverything } from "../arguments/everything.ts";
import { forEachThread } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command
      .argument("[ids...]", "the threads, or @last")
      .option("--all", "all threads of the storage root that run or sleep"),
  examples: ["uncaged-workflow pause @last", "uncaged-workflow pause --all"],
  run(session, options: AllOptions, ids: string[]) {
    checkAll(options, ids);
    if (options.all) return stopEverything(session, { kind: "pause" }, options);
    return forEachThread(
      session,
      ids,
      (ref) => session.host.control(ref, { kind: "pause" }),
      ({ threadId }) => `paused ${threadId}; it stops after its current step`,
    );
  },
});
