import { openThreads, type StopAll, stopAll } from "@uncaged/workflow/host";
import { exitCodes } from "../output/exit-code.ts";
import { count, oneLine } from "../output/text.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { isConfirmed } from "./question.ts";

/** Options of the commands that can stop all threads of the storage root. */
export type AllOptions = { all?: boolean; yes?: boolean };

/**
 * Checks that the caller either names threads or gives `--all`.
 * @throws WorkflowError (usage)
 */
export function checkAll({ all }: AllOptions, ids: readonly string[]): void {
  if (all && ids.length > 0) throw wrongUse("--all takes no thread", "leave out one of them");
  if (!all && ids.length === 0) throw wrongUse("missing a thread", "name it, or all: --all");
}

/** Stops all threads of the storage root. Asks for confirmation before it kills them. */
export async function stopEverything(
  session: Session,
  command: StopAll,
  { yes }: AllOptions,
): Promise<number> {
  const { host, hostName } = session;
  const rows = await openThreads(host, command.kind);
  if (rows.length === 0) {
    session.show({ stopped: [], failed: [] }, () => "");
    session.note(`no thread of ${hostName} runs`);
    return exitCodes.done;
  }
  if (command.kind === "kill") {
    const groups = Map.groupBy(rows, ({ status }) => status);
    const what = [...groups].map(([status, all]) => `${all.length} ${status}`).join(", ");
    const threads = count(rows.length, "thread");
    const question = `kill ${threads} of ${hostName} (${what})?`;
    if (!(await isConfirmed(session, question, yes))) return exitCodes.failed;
  }
  const done = await stopAll(host, command);
  const verb = command.kind === "pause" ? "paused" : "killed";
  session.show(done, () => done.stopped.map(({ threadId }) => `${verb} ${threadId}\n`).join(""));
  for (const { threadId, error } of done.failed) {
    session.note(`can't ${command.kind} ${threadId}: ${oneLine(error.message)}`);
  }
  return done.failed.length > 0 ? exitCodes.failed : exitCodes.done;
}
