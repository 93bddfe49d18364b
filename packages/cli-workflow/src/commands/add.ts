import { sourcesFor } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";

const file =
  "a bundle (.esm.js), a source that is built first (.ts, .mts, .tsx), or a step workflow (.json, .yaml)";

export default defineCommand({
  declare: (command) =>
    command
      .argument("<name>", "the workflow's name")
      .argument("<file>", file)
      .option("--types <file>", "keep this .d.ts file beside the bundle"),
  examples: [
    "uncaged-workflow add review review.esm.js",
    "uncaged-workflow add review workflow.ts",
    "uncaged-workflow add review flow.json",
  ],
  async run(session, { types }: { types?: string }, name: string, path: string) {
    const sources = await sourcesFor(session, path);
    const added = await session.host.register(name, path, { types, sources });
    if (added.unchanged) session.note(`${name} is at this version already`);
    else session.note(`added ${name}; run it: uncaged-workflow run ${name}`);
    session.show(added, () => `${added.hash}\n`);
  },
});
