import { threadDiff } from "@uncaged/workflow/host";
import { diffText } from "../output/diff.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  declare: (command) =>
    command.argument("<a>", "a thread, or @last").argument("<b>", "another thread"),
  examples: ["uncaged-workflow diff 01KQXKW1 @last"],
  async run(session, _options, a: string, b: string) {
    const { host, json, paint } = session;
    const refs = [await host.find(a), await host.find(b)] as const;
    const found = threadDiff(await host.read(refs[0]), await host.read(refs[1]));
    const text = json ? "" : await diffText(found, [refs[0].threadId, refs[1].threadId], paint);
    session.show(found, () => text);
  },
});
