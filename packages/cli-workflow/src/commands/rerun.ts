import type { Command } from "commander";
import {
  collect,
  type LimitOptions,
  limitOptions,
  limitsOf,
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
    fromStep: string;
    set?: string[];
    prompt?: string;
    promptFile?: string;
    maxRounds?: number;
    on?: string;
  };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<id>", "a thread of a step workflow, or @last")
    .requiredOption("--from-step <step>", "start at this step's last run; step#2: at its second")
    .option(
      "--set <name=value>",
      "give a variable or a param another value, as JSON or text; may be repeated",
      collect,
    )
    .option("--prompt <text>", "another prompt; - reads it from stdin")
    .option("--prompt-file <file>", "another prompt: the text of this file");
  maxRoundsOption(command, "default: those of the thread");
  command.option("--on <workflow>", "on another version: a name, name@hash or a hash");
  startOptions(limitOptions(command, "default: that of the thread")).action(perform(rerun));
  examples(
    command,
    "uncaged-workflow rerun @last --from-step LLM_Write --follow",
    "uncaged-workflow rerun @last --from-step Write_Notes --set '$tone=\"dry\"' --set '$days=3'",
    "uncaged-workflow rerun @last --from-step LLM_Write#2",
    "uncaged-workflow rerun @last --from-step LLM_Write --on review",
  );
}

async function rerun(session: Session, options: Options, id: string): Promise<number> {
  const { env, host } = session;
  const { rerunInput } = await import("@uncaged/workflow-steps");
  const { documentsIn, overridesOf, rerunStart } = await import("../arguments/steps.ts");
  const prompt = await promptOf(options);
  const ref = await host.find(id);
  const { maxRounds, durability, on } = options;
  const runs =
    on === undefined
      ? ref.hash
      : await withName(session, on, async () => (await host.resolve(on)).hash);
  const { document } = await documentsIn(host, runs);
  const { steps } = await host.read(ref);
  const ids = document.steps.map((step) => step.id);
  const { stepID, kept } = rerunStart(options.fromStep, ids, steps);
  const overrides = overridesOf(options.set ?? [], document);
  const started = await host.fork(ref, {
    env,
    keep: { atStep: kept },
    input: rerunInput({ stepID, overrides }),
    prompt,
    maxRounds,
    on,
    options: limitsOf(options),
    durability,
  });
  return await afterStart(session, options, started);
}
