import type { Recovered } from "@uncaged/workflow/host";
import { leftText } from "../output/recovered.ts";
import { isoTime, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import { exitCodes } from "../output/exit-code.ts";

export default defineCommand({
  declare: (command) =>
    command.option("--resume", "resume threads that were interrupted within the last day too"),
  examples: ["uncaged-workflow wake", "uncaged-workflow wake --json | jq .next"],
  async run(session, { resume = false }: { resume?: boolean }) {
    const { env, host } = session;
    const found = await host.wake({ env });
    const { woken, failed, next } = found;
    const recovered: Partial<Recovered> = resume ? await host.recover({ env }) : {};
    const { resumed = [], left = [] } = recovered;
    session.show({ ...found, ...recovered }, () =>
      [
        ...woken.map(({ threadId }) => `woke ${threadId}\n`),
        ...resumed.map(({ threadId }) => `resumed ${threadId}\n`),
      ].join(""),
    );
    for (const { threadId, error } of failed) {
      session.note(
        `can't wake ${threadId}; the next attempt is in a minute: ${oneLine(error.message)}`,
      );
    }
    for (const one of left) session.note(leftText(one));
    session.note(next === null ? "no thread is asleep" : `the next is due at ${isoTime(next)}`);
    return failed.length > 0 ? exitCodes.failed : exitCodes.done;
  },
});
