import { followThread } from "../follow/follow.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) => command.argument("<id>", "the thread, or @last"),
  examples: ["uncaged-workflow follow @last", "uncaged-workflow follow @last --json | jq .kind"],
  run: async (session, _options, id: string) =>
    await followThread(session, await session.host.find(id)),
});
