import type { Keep } from "@uncaged/workflow/host";
import { type Command, Option } from "commander";
import { type Edit, editOf } from "../arguments/edit.ts";
import { inputOf } from "../arguments/values.ts";
import {
  type LimitOptions,
  limitOptions,
  limitsOf,
  wholeNumber,
  maxRoundsOption,
  type StartOptions,
  startOptions,
} from "../arguments/options.ts";
import { withName } from "../arguments/names.ts";
import { afterStart } from "../follow/started.ts";
import { promptOf } from "../arguments/text.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = StartOptions &
  LimitOptions & {
    fromRole?: string;
    atStep?: number;
    prompt?: string;
    promptFile?: string;
    maxRounds?: number;
    edit?: string | true;
    input?: string;
    on?: string;
  };

const mostSteps = 1_000_000_000;

export function define(command: Command, perform: Perform): void {
  command
    .argument("<id>", "the thread to take the steps from, or @last")
    .option("--from-role <role>", "keep all up to this role's last step; role#2: its second")
    .addOption(
      new Option("--at-step <n>", "keep the first n steps (default: all but the last)")
        .argParser(wholeNumber("--at-step", 0, mostSteps))
        .conflicts("fromRole"),
    )
    .option("--prompt <text>", "another prompt; - reads it from stdin")
    .option("--prompt-file <file>", "another prompt: the text of this file");
  maxRoundsOption(command, "default: those of the thread")
    .option("--edit [json]", 'change the last kept step in $EDITOR, or by {"content","meta"}')
    .option("--input <text>", "put an answer after the kept steps; - reads it from stdin")
    .option("--on <workflow>", "continue on another version: a name, name@hash or a hash");
  startOptions(limitOptions(command, "default: that of the thread")).action(perform(fork));
  examples(
    command,
    "uncaged-workflow fork @last --from-role planner --follow",
    'uncaged-workflow fork @last --at-step 2 --edit \'{"content":"A better plan"}\'',
    "uncaged-workflow fork @last --on review",
  );
}

async function fork(session: Session, options: Options, id: string): Promise<number> {
  const { maxRounds, durability, on } = options;
  const { env, host } = session;
  const prompt = await promptOf(options);
  const input = await inputOf(options.input);
  const ref = await host.find(id);
  const keep = keepOf(options);
  const edit: Edit | undefined = await editOf(session, ref, keep, options.edit);
  const limits = limitsOf(options);
  const more = { keep, prompt, maxRounds, options: limits, edit, on, input, durability };
  const started = await withName(session, on ?? "", () => host.fork(ref, { env, ...more }));
  return await afterStart(session, options, started);
}

function keepOf({ fromRole, atStep }: Options): Keep | undefined {
  if (fromRole !== undefined) return { fromRole };
  return atStep === undefined ? undefined : { atStep };
}
