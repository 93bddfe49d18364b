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
  const { host, env } = session;
  const options = { env, ...(sandbox && { sandbox }), ...(threads && { threads }) };
  return show(session, await checkVersion(host, name, bundle, options));
}

/** Replays a workflow's threads on a stored version. Returns the exit code. */
export async function checkStored(
  session: Session,
  name: string,
  version: string,
  { threads }: CheckOptions,
): Promise<number> {
  const { host, env } = session;
  const options = { env, ...(threads && { threads }) };
  const check = async () => {
    await host.workflow(name);
    return await checkVersion(host, name, version, options);
  };
  return show(session, await withName(session, name, check));
}

function show(session: Session, found: VersionCheck): number {
  session.show(checkJson(found), () => checkText(found, session.paint));
  if (!found.isReplayed && found.threads.length > 0) {
    session.note("this version runs its roles itself: only the names of its roles were compared");
  }
  const isBroken = found.threads.some(({ status }) => status === "diverges");
  return isBroken ? exitCodes.failed : exitCodes.done;
}
