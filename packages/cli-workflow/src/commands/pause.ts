import { forEachThread } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) => command.argument("<ids...>", "the threads, or @last"),
  examples: ["uncaged-workflow pause @last"],
  run: (session, _options, ids: string[]) =>
    forEachThread(
      session,
      ids,
      (ref) => session.host.control(ref, { kind: "pause" }),
      ({ threadId }) => `paused ${threadId}; it stops after the step it is at`,
    ),
});
