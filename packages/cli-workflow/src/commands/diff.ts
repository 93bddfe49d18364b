import { fileDiff } from "@uncaged/workflow/internal";
import { threadDiff } from "@uncaged/workflow/host";
import { diffText } from "../output/diff.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command.argument("<a>", "a thread, or @last").argument("<b>", "another thread"),
  examples: ["uncaged-workflow diff 01KQXKW1 @last"],
  async run(session, _options, a: string, b: string) {
    const { host, paint } = session;
    const views = [
      await host.read(await host.find(a)),
      await host.read(await host.find(b)),
    ] as const;
    const found = { ...threadDiff(...views), files: await fileDiff(...views) };
    session.show(found, () => diffText(found, [views[0].threadId, views[1].threadId], paint));
  },
});
