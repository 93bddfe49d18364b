import type { Command } from "commander";
import { jsonOf, optionsOf } from "../arguments/values.ts";
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
    prompt?: string;
    promptFile?: string;
    maxRounds?: number;
    params?: string;
    option?: string[];
    threadId?: string;
  };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<workflow>", "a name, name@hash, or the hash of a bundle")
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
  startOptions(limitOptions(command)).action(perform(run));
  examples(
    command,
    "uncaged-workflow run review --prompt 'Look at src' --follow",
    "uncaged-workflow run review --max-cost 2.50 --wait",
    "git diff | uncaged-workflow run review --prompt - --wait",
    "id=$(uncaged-workflow run review)",
  );
}

async function run(session: Session, options: Options, workflow: string): Promise<number> {
  const { maxRounds, threadId, durability } = options;
  const params =
    options.params === undefined ? undefined : await jsonOf("--params", options.params);
  const prompt = (await promptOf(options)) ?? "";
  const started = await withName(session, workflow, () =>
    session.host.start({
      workflow,
      prompt,
      maxRounds,
      params,
      options: { ...optionsOf(options.option ?? []), ...limitsOf(options) },
      threadId,
      cwd: session.cwd,
      env: session.env,
      durability,
    }),
  );
  return await afterStart(session, options, started);
}
