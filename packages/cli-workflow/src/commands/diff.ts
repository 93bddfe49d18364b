import { threadDiff } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { diffText } from "../output/diff.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<a>", "a thread, or @last")
    .argument("<b>", "another thread")
    .action(perform(diff));
  examples(command, "uncaged-workflow diff 01KQXKW1 @last");
}

async function diff(session: Session, _options: unknown, a: string, b: string): Promise<void> {
  const { host } = session;
  const [refA, refB] = [await host.find(a), await host.find(b)];
  const found = threadDiff(await host.read(refA), await host.read(refB));
  session.show(found, () => "");
  if (!session.json)
    session.write(await diffText(found, [refA.threadId, refB.threadId], session.paint));
}
