import type { Keep } from "@uncaged/workflow/host";
import { terminalUser } from "@uncaged/workflow/internal";
import { Option } from "commander";
import { editOf } from "../arguments/edit.ts";
import { withName } from "../arguments/names.ts";
import { changesOf, type ForkOptions, forkOptions, wholeNumber } from "../arguments/options.ts";
import { inputOf } from "../arguments/values.ts";
import { afterStart } from "../follow/started.ts";
import { defineCommand } from "../session/command.ts";

type Options = ForkOptions & {
  fromRole?: string;
  atStep?: number;
  edit?: string | true;
  anew?: true;
  input?: string;
};

const mostSteps = 1_000_000_000;

export default defineCommand({
  declare(command) {
    command
      .argument("<id>", "the thread whose steps to keep, or @last")
      .option(
        "--from-role <role>",
        "keep all steps up to this role's last step; role#2: its second step",
      )
      .addOption(
        new Option("--at-step <n>", "keep the first n steps (default: all but the last)")
          .argParser(wholeNumber("--at-step", 0, mostSteps))
          .conflicts("fromRole"),
      )
      .option(
        "--edit [json]",
        'change the last kept step in $EDITOR, or with the JSON {"content","meta"}',
      )
      .option("--anew", "repeat the step in progress without its recorded turns; keeps all steps")
      .option("--input <text>", "answer the last kept step, a question; - reads it from stdin");
    forkOptions(command);
  },
  examples: [
    "uncaged-workflow fork @last --from-role planner --follow",
    'uncaged-workflow fork @last --at-step 2 --edit \'{"content":"A better plan"}\'',
    "uncaged-workflow fork @last --on review",
  ],
  async run(session, options: Options, id: string) {
    const changes = await changesOf(session, options);
    const input = await inputOf(options.input);
    const ref = await session.host.find(id);
    const keep = keepOf(options);
    const edit = await editOf(session, ref, keep, options.edit);
    const by = terminalUser();
    const given = {
      ...changes,
      keep,
      edit: edit && { ...edit, by },
      input: input && { ...input, by },
      anew: options.anew,
    };
    const fork = () => session.host.fork(ref, given);
    return await afterStart(session, options, await withName(session, options.on ?? "", fork));
  },
});

function keepOf({ fromRole, atStep }: Options): Keep | undefined {
  if (fromRole !== undefined) return { fromRole };
  return atStep === undefined ? undefined : { atStep };
}
