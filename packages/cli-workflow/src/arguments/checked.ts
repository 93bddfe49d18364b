import {
  checkJson,
  checkVersion,
  mostRecent,
  preparedBundle,
  type VersionCheck,
} from "@uncaged/workflow/internal";
import type { RegisterOptions } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { checkText } from "../output/check.ts";
import { exitCodes } from "../output/exit-code.ts";
import type { Session } from "../session/session.ts";
import { count } from "../output/text.ts";
import { sourcesFor, withName } from "./names.ts";
import { wholeNumber } from "./options.ts";

export type CheckOptions = { threads?: number };

const mostThreads = 100_000;

export const threadsOption = (command: Command): Command =>
  command.option(
    "--threads <n>",
    `check only the newest n threads (default: all that have not ended, and the newest ${mostRecent})`,
    wholeNumber("--threads", 1, mostThreads),
  );

/** Replays a workflow's threads on a file that is not added. Returns the exit code. */
export async function checkFile(
  session: Session,
  name: string,
  file: string,
  { sandbox, threads }: CheckOptions & Pick<RegisterOptions, "sandbox">,
): Promise<number> {
  const sources = await sourcesFor(session, file);
  const onWarning = (warning: string) => session.note(`warning: ${warning}`);
  const bundle = await preparedBundle(file, { ...(sandbox && { sandbox }), sources, onWarning });
  return await check(session, name, bundle, {
    ...(sandbox && { sandbox }),
    ...(threads && { threads }),
  });
}

/** Replays a workflow's threads on a stored version. Returns the exit code. */
export async function checkStored(
  session: Session,
  name: string,
  version: string,
  { threads }: CheckOptions,
): Promise<number> {
  return await withName(session, name, async () => {
    await session.host.workflow(name);
    return await check(session, name, version, { ...(threads && { threads }) });
  });
}

async function check(
  session: Session,
  name: string,
  version: Parameters<typeof checkVersion>[2],
  options: Parameters<typeof checkVersion>[3],
): Promise<number> {
  const { host, env } = session;
  const signal = session.termination();
  try {
    return show(session, await checkVersion(host, name, version, { ...options, env, signal }));
  } catch (error) {
    if (signal.aborted) return exitCodes.interrupted;
    throw error;
  }
}

function show(session: Session, found: VersionCheck): number {
  session.show(checkJson(found), () => checkText(found, session.paint));
  if (!found.isReplayed && found.threads.length > 0) {
    session.note("this version runs its roles itself: only the names of its roles were compared");
  }
  const { leftOut } = found;
  if (leftOut > 0) session.note(`left out, corrupt or moved: ${count(leftOut, "thread")}`);
  const isBroken = found.threads.some(({ status }) => status === "diverges");
  return isBroken ? exitCodes.failed : exitCodes.done;
}
