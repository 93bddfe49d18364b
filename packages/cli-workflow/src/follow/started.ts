import type { StartedThread } from "@uncaged/workflow/host";
import type { StartOptions } from "../arguments/options.ts";
import type { Session } from "../session/session.ts";
import { exitCodes } from "../output/exit-code.ts";

export async function afterStart(
  session: Session,
  options: StartOptions,
  started: StartedThread,
): Promise<number> {
  const { threadId, workflow, hash } = started;
  const ref = { hash, threadId };
  if (options.follow) {
    if (session.json) session.stream({ kind: "start", ...started });
    else if (session.quiet) session.write(`${threadId}\n`);
    else session.note(`${threadId}  ${workflow} (${hash})`);
    // Loaded on demand, because a plain start does not need it.
    const { followThread } = await import("./follow.ts");
    return await followThread(session, ref);
  }
  if (options.wait) {
    if (!session.json) session.write(`${threadId}\n`);
    const { waitForThread } = await import("./follow.ts");
    return await waitForThread(session, ref, started);
  }
  session.show(started, () => `${threadId}\n`);
  return exitCodes.done;
}
