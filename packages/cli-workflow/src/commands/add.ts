import type { Command } from "commander";
import { sourcesFor } from "../arguments/names.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .argument("<name>", "the workflow's name")
    .argument(
      "<file>",
      "a bundle (.esm.js), a source that is built first (.ts, .mts, .tsx), or a step workflow (.json, .yaml)",
    )
    .option("--types <file>", "keep this .d.ts file beside the bundle")
    .action(perform(add));
  examples(
    command,
    "uncaged-workflow add review review.esm.js",
    "uncaged-workflow add review workflow.ts",
    "uncaged-workflow add review flow.json",
  );
}

async function add(
  session: Session,
  { types }: { types?: string },
  name: string,
  file: string,
): Promise<void> {
  const sources = await sourcesFor(session, file);
  const added = await session.host.register(name, file, { types, sources });
  if (added.unchanged) session.note(`${name} is at this version already`);
  else session.note(`added ${name}; run it: uncaged-workflow run ${name}`);
  session.show(added, () => `${added.hash}\n`);
}
