import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Fixture } from "@uncaged/workflow/host";
import { fixtureOf } from "@uncaged/workflow/host";
import { jsonOf } from "../arguments/values.ts";
import { fixtureIn } from "../eval/fixture.ts";
import { badOption, wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { noRecording } from "./errors.ts";

/** Options that name the inputs of a workflow. */
export type InputOptions = {
  thread?: string;
  fixture?: string;
  prompt?: string;
  params?: string;
  live?: boolean;
  files?: string;
};

/** The recording, the prompt and params of the runs, and the options that name the same recording again. */
export type Inputs = {
  fixture: Fixture | null;
  prompt: string;
  params?: unknown;
  maxRounds?: number;
  files: string | null;
  again: string[];
};

/**
 * Returns the inputs of a workflow from the named fixture or thread, else from the workflow's newest completed thread,
 * preferably a thread of this version.
 *
 * @throws WorkflowError `NO_RECORDING`, `BAD_FIXTURE`, `THREAD_NOT_FOUND`, `LOG_CORRUPT`, `BAD_JSON`.
 */
export async function inputsOf(
  session: Session,
  { name, hash }: { name: string; hash: string },
  options: InputOptions,
): Promise<Inputs> {
  const { prompt, params, live = false, files } = options;
  const found = await recordingOf(session, { name, hash }, options);
  const { fixture } = found;
  const given = params === undefined ? fixture?.params : await jsonOf("--params", params);
  const again = [...found.again];
  if (prompt !== undefined) again.push("--prompt", prompt);
  if (params !== undefined) again.push("--params", params);
  if (live) again.push("--live");
  if (files !== undefined) again.push("--files", files);
  return {
    ...{ fixture, prompt: prompt ?? fixture?.prompt ?? "", again },
    files: files === undefined ? null : folderNamed(session, files, live),
    ...(given !== undefined && { params: given }),
    ...(found.maxRounds !== undefined && { maxRounds: found.maxRounds }),
  };
}

function folderNamed({ cwd }: Session, files: string, isLive: boolean): string {
  if (!isLive)
    throw wrongUse("--files needs --live", "roles that a recording answers need no files");
  const path = resolve(cwd, files);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw badOption("--files", files, "name a folder");
}

async function recordingOf(
  session: Session,
  version: { name: string; hash: string },
  { thread, fixture, live }: InputOptions,
): Promise<{ fixture: Fixture | null; maxRounds?: number; again: string[] }> {
  if (fixture !== undefined) {
    return { fixture: await fixtureIn(fixture, "--fixture"), again: ["--fixture", fixture] };
  }
  const { host } = session;
  const ref = thread === undefined ? await newest(session, version) : await host.find(thread);
  if (ref === null) {
    if (live) return { fixture: null, again: [] };
    throw noRecording(version.name);
  }
  const view = await host.read(ref);
  const { threadId, maxRounds } = view;
  return { fixture: fixtureOf(view), maxRounds, again: ["--thread", threadId] };
}

const mostSearched = 100;

async function newest({ host }: Session, { name, hash }: { name: string; hash: string }) {
  const query = { workflow: name, status: ["completed" as const], limit: mostSearched };
  const { rows } = await host.threads(query);
  return rows.find((row) => row.hash === hash) ?? rows[0] ?? null;
}
