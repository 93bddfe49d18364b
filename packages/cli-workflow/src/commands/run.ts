import { addFile, editedSource } from "../arguments/added.ts";
import { listedOne } from "../arguments/listed.ts";
import { withName } from "../arguments/names.ts";
import {
  changesOf,
  collect,
  type ForkOptions,
  limitOptions,
  maxRoundsOption,
  startOptions,
} from "../arguments/options.ts";
import { fileHint, fileMeant, storedFrom } from "../arguments/source.ts";
import { optionsOf } from "../arguments/values.ts";
import { afterStart } from "../follow/started.ts";
import { triggeredPlan } from "../plan/file.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { show } from "@uncaged/workflow/internal";
import { defineCommand } from "../session/command.ts";

type Options = ForkOptions & { add?: boolean; option?: string[]; threadId?: string };

export default defineCommand({
  declare(command) {
    command
      .argument("<workflow>", "a name, name@hash, the hash of a bundle, or a file to build and run")
      .option("--prompt <text>", "the prompt; - reads it from stdin (default: empty)")
      .option("--prompt-file <file>", "the prompt is the text of this file");
    maxRoundsOption(command)
      .option("--params <json>", "structured input for the workflow; @file reads it from a file")
      .option(
        "--option <name=value>",
        "an option for the workflow, as JSON or text; may be repeated",
        collect,
      )
      .option("--add", "build and add the project's workflow of this name, then run it")
      .option(
        "--thread-id <ulid>",
        "the thread's id; a second start with the same id starts no thread",
      );
    startOptions(limitOptions(command));
  },
  examples: [
    "uncaged-workflow run review --prompt 'Look at src' --follow",
    "uncaged-workflow run review --max-cost 2.50 --wait",
    "git diff | uncaged-workflow run review --prompt - --wait",
    "id=$(uncaged-workflow run review)",
    "uncaged-workflow run review --add",
    "uncaged-workflow run ./workflow.ts --prompt 'Look at src' --follow",
  ],
  async run(session, options: Options, workflow: string) {
    const { threadId } = options;
    const { prompt = "", options: limits, ...given } = await changesOf(session, options);
    const own = { ...optionsOf(options.option ?? []), ...limits };
    const { cwd } = session;
    const file = await fileMeant(session, workflow);
    if (options.add) await addListed(session, workflow, file);
    else if (file === null) await noteEdited(session, workflow);
    const version = file === null ? { workflow } : await storedFrom(session, file);
    const start = () =>
      session.host.start({
        ...given,
        ...version,
        prompt,
        options: own,
        threadId,
        cwd,
      });
    const startNamed = () => withName(session, workflow, start, () => fileHint(session, workflow));
    return await afterStart(session, options, await startNamed());
  },
});

/** Adds the current source of a workflow that the project lists. */
async function addListed(session: Session, name: string, file: string | null): Promise<void> {
  if (file !== null) {
    const hint = "leave out --add: a file is built each time it runs";
    throw wrongUse(`--add is for a name, and ${show(name)} is a file`, hint);
  }
  const { file: source } = listedOne(session, name);
  if ((await triggeredPlan(source)) !== null) {
    const hint = `add it: uncaged-workflow add ${name}`;
    throw wrongUse(`${show(name)} is a plan with a trigger: a confirmation starts the plan`, hint);
  }
  const { hash, unchanged } = await addFile(session, name, source);
  if (!unchanged) session.note(`added ${name}: ${hash}`);
}

async function noteEdited(session: Session, name: string): Promise<void> {
  const file = await editedSource(session, name);
  if (file === null) return;
  session.note(
    `${file} differs from the version of ${name} that runs; run it: uncaged-workflow run ${name} --add`,
  );
}
