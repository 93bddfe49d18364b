import { resumeThread } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { forEachThread } from "../arguments/ids.ts";
import { inputOf } from "../arguments/input.ts";
import { durabilityOption, type StartingOptions } from "../arguments/starting.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

type Options = Pick<StartingOptions, "durability"> & { input?: string };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<ids...>", "the threads, or @last")
    .option("--input <text>", "answer a waiting thread: JSON or text; - reads it from stdin");
  durabilityOption(command).action(perform(resume));
  examples(
    command,
    "uncaged-workflow resume @last",
    "uncaged-workflow resume @last --input '{\"approved\":true}'",
  );
}

async function resume(session: Session, options: Options, ids: string[]): Promise<number> {
  const input = await inputOf(options.input);
  const { env } = session;
  return await forEachThread(
    session,
    ids,
    (ref) => resumeThread(session.root, ref, { env, durability: options.durability, input }),
    ({ threadId }) => `resumed ${threadId}`,
  );
}
