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
import { defineCommand } from "../session/command.ts";

type Options = ForkOptions & { option?: string[]; threadId?: string };

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
      .option("--thread-id <ulid>", "the thread's id; asking again with it starts nothing");
    startOptions(limitOptions(command));
  },
  examples: [
    "uncaged-workflow run review --prompt 'Look at src' --follow",
    "uncaged-workflow run review --max-cost 2.50 --wait",
    "git diff | uncaged-workflow run review --prompt - --wait",
    "id=$(uncaged-workflow run review)",
    "uncaged-workflow run ./workflow.ts --prompt 'Look at src' --follow",
  ],
  async run(session, options: Options, workflow: string) {
    const { threadId } = options;
    const { prompt = "", options: limits, ...given } = await changesOf(session, options);
    const own = { ...optionsOf(options.option ?? []), ...limits };
    const { cwd } = session;
    const file = await fileMeant(session, workflow);
    const version = file === null ? { workflow } : await storedFrom(session, file);
    const start = () =>
      session.host.start({ ...given, ...version, prompt, options: own, threadId, cwd });
    const startNamed = () => withName(session, workflow, start, () => fileHint(session, workflow));
    return await afterStart(session, options, await startNamed());
  },
});
