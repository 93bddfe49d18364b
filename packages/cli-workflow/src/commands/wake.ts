import { isoTime, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { exitCodes } from "../output/exit-code.ts";

export default defineCommand({
  examples: ["uncaged-workflow wake", "uncaged-workflow wake --json | jq .next"],
  async run(session) {
    const found = await session.host.wake({ env: session.env });
    const { woken, failed, next } = found;
    session.show(found, () => woken.map(({ threadId }) => `woke ${threadId}\n`).join(""));
    for (const { threadId, error } of failed) {
      session.note(`can't wake ${threadId}, tried again in a minute: ${oneLine(error.message)}`);
    }
    session.note(next === null ? "no thread is asleep" : `the next is due at ${isoTime(next)}`);
    return failed.length > 0 ? exitCodes.failed : exitCodes.done;
  },
});
