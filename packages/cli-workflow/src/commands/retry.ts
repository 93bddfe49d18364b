import { findThread, retryThread } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { maxRoundsOption } from "../arguments/rounds.ts";
import { afterStart, type StartingOptions, startingOptions } from "../arguments/starting.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

type Options = StartingOptions & { maxRounds?: number };

export function define(command: Command, perform: Perform): void {
  command.argument("<id>", "a thread that failed, was killed, or ran out of rounds; or @last");
  startingOptions(maxRoundsOption(command, "default: those of the thread")).action(perform(retry));
  examples(command, "uncaged-workflow retry @last --follow");
}

async function retry(session: Session, options: Options, id: string): Promise<number> {
  const { maxRounds, durability } = options;
  const ref = await findThread(session.root, id);
  const started = await retryThread(session.root, ref, { env: session.env, maxRounds, durability });
  return await afterStart(session, options, started);
}
