import { forEachListed, listedSource, listedWorkflows } from "../arguments/listed.ts";
import { sourcesFor } from "../arguments/names.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/failure.ts";
import type { Session } from "../session/session.ts";
import { exitCodes } from "../output/exit-code.ts";

const file =
  "a bundle (.esm.js), a source that is built first (.ts, .mts, .tsx), or a step workflow (.json, .yaml)";

type Options = { types?: string };

export default defineCommand({
  declare: (command) =>
    command
      .argument("[name]", "the workflow's name (default: all that the project lists)")
      .argument("[file]", `${file} (default: the one that the project lists)`)
      .option("--types <file>", "keep this .d.ts file beside the bundle"),
  examples: [
    "uncaged-workflow add",
    "uncaged-workflow add review workflow.ts",
    "uncaged-workflow add review flow.json",
    "uncaged-workflow add review review.esm.js",
  ],
  async run(session, { types }: Options, name?: string, path?: string) {
    if (name !== undefined) {
      const added = await add(session, name, path ?? listedSource(session, name), types);
      session.show(added, () => `${added.hash}\n`);
      return exitCodes.done;
    }
    if (types !== undefined) {
      throw wrongUse("--types is for one workflow", "name it: uncaged-workflow add <name> <file>");
    }
    const listed = listedWorkflows(session);
    const { results, exitCode } = await forEachListed(session, listed, async (one) => {
      const added = await add(session, one.name, one.file);
      if (!session.json) session.write(`${added.hash}  ${one.name}\n`);
      return added;
    });
    if (session.json) session.show(results, () => "");
    return exitCode;
  },
});

async function add(session: Session, name: string, path: string, types?: string) {
  const sources = await sourcesFor(session, path);
  const added = await session.host.register(name, path, { types, sources });
  if (added.unchanged) session.note(`${name} is at this version already`);
  else session.note(`added ${name}; run it: uncaged-workflow run ${name}`);
  return added;
}
