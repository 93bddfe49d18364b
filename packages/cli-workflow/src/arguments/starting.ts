import { type Command, Option } from "commander";
import { followLive } from "../follow/follow.ts";
import { waitFor } from "../follow/wait.ts";
import type { Session } from "../program/session.ts";

/** The options of every command that starts a thread or goes on with one. */
export type StartingOptions = { durability?: "step" | "os"; wait?: boolean; follow?: boolean };

/** Adds `--durability`, `--wait` and `--follow`. */
export function startingOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--durability <level>",
        "a step is committed when the disk has it (step), or the system (os)",
      ).choices(["step", "os"]),
    )
    .addOption(new Option("--wait", "wait for the end and exit with its return code"))
    .addOption(new Option("--follow", "show the thread live").conflicts("wait"));
}

type Started = { threadId: string; workflow: string; hash: string };

/** Tells which thread has started, and waits for it or shows it when that was asked for. */
export async function afterStart(
  session: Session,
  options: StartingOptions,
  started: Started,
): Promise<number> {
  const { threadId, workflow, hash } = started;
  const ref = { hash, threadId };
  if (options.follow) {
    if (session.json) session.stream({ kind: "start", ...started });
    else if (session.quiet) session.write(`${threadId}\n`);
    else session.note(`${threadId}  ${workflow} (${hash})`);
    return await followLive(session, ref);
  }
  if (options.wait) {
    if (!session.json) session.write(`${threadId}\n`);
    return await waitFor(session, ref, started);
  }
  session.show(started, () => `${threadId}\n`);
  return 0;
}
