import { resolve } from "node:path";
import type { Fixture } from "@uncaged/workflow/host";
import { fixtureOf } from "@uncaged/workflow/host";
import { checkFixture } from "@uncaged/workflow/internal";
import { jsonOf, readText } from "../arguments/values.ts";
import { badFixture } from "../eval/errors.ts";
import type { Session } from "../session/session.ts";
import { noRecording } from "./errors.ts";

/** Options that name the inputs of a workflow. */
export type InputOptions = {
  thread?: string;
  fixture?: string;
  prompt?: string;
  params?: string;
  live?: boolean;
};

/** The recording, the prompt and params of the runs, and the options that name the same recording again. */
export type Inputs = {
  fixture: Fixture | null;
  prompt: string;
  params?: unknown;
  maxRounds?: number;
  again: string[];
};

/**
 * Returns the inputs of a workflow: of the named fixture or thread, else of its newest completed thread, preferably of
 * this version.
 *
 * @throws WorkflowError `NO_RECORDING`, `BAD_FIXTURE`, `THREAD_NOT_FOUND`, `LOG_CORRUPT`, `BAD_JSON`.
 */
export async function inputsOf(
  session: Session,
  { name, hash }: { name: string; hash: string },
  options: InputOptions,
): Promise<Inputs> {
  const found = await recordingOf(session, { name, hash }, options);
  const { fixture } = found;
  const given =
    options.params === undefined ? fixture?.params : await jsonOf("--params", options.params);
  const again = [...found.again];
  if (options.prompt !== undefined) again.push("--prompt", options.prompt);
  if (options.params !== undefined) again.push("--params", options.params);
  return {
    ...{ fixture, prompt: options.prompt ?? fixture?.prompt ?? "", again },
    ...(given !== undefined && { params: given }),
    ...(found.maxRounds !== undefined && { maxRounds: found.maxRounds }),
  };
}

async function recordingOf(
  session: Session,
  version: { name: string; hash: string },
  { thread, fixture, live }: InputOptions,
): Promise<{ fixture: Fixture | null; maxRounds?: number; again: string[] }> {
  if (fixture !== undefined) {
    const path = resolve(session.cwd, fixture);
    const text = await readText(path, "--fixture");
    try {
      return { fixture: checkFixture(JSON.parse(text)), again: ["--fixture", fixture] };
    } catch (error) {
      throw badFixture(fixture, error instanceof Error ? error.message : String(error));
    }
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
