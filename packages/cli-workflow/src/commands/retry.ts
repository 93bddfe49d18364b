import { retryOptions } from "@uncaged/workflow/host";
import type { Command } from "commander";
import {
  type LimitOptions,
  limitOptions,
  limitsOf,
  maxRoundsOption,
  type StartOptions,
  startOptions,
} from "../arguments/options.ts";
import { afterStart } from "../follow/started.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = StartOptions & LimitOptions & { maxRounds?: number };

export function define(command: Command, perform: Perform): void {
  command.argument("<id>", "a thread that failed, was killed, or ran out of rounds; or @last");
  maxRoundsOption(command, "default: those of the thread");
  startOptions(limitOptions(command, "default: that of the thread")).action(perform(retry));
  examples(
    command,
    "uncaged-workflow retry @last --follow",
    "uncaged-workflow retry @last --max-cost 5",
  );
}

async function retry(session: Session, options: Options, id: string): Promise<number> {
  const { maxRounds, durability } = options;
  const { env, host } = session;
  const ref = await host.find(id);
  const given = { env, maxRounds, options: limitsOf(options), durability };
  const started = await host.fork(ref, retryOptions(await host.read(ref), given));
  return await afterStart(session, options, started);
}
