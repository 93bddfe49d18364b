import {
  findProject,
  hostVariable,
  isAnythingDue,
  openRoot,
  type PrewarmedWorker,
  rootVariable,
  type StartedThread,
  startThread,
} from "@uncaged/workflow/host";
import { jsonDocument, processOutput } from "../output/output.ts";
import type { Begun } from "../session/session.ts";

/** A `run` with nothing that takes the command line's parser to read. */
export type PlainRun = {
  workflow: string;
  prompt: string;
  root: string | undefined;
  json: boolean;
};

/**
 * Runs a plain `run` in the worker's process that was started for it, without the command line's parser.
 * Gives what the command then has left to do: nothing (null), or to report what was begun. Only where nothing can be
 * wrong with the arguments, for a command that is refused must leave no trace; any other `run` starts its thread when
 * its arguments have been parsed.
 */
export async function runPlain(
  { workflow, prompt, root, json }: PlainRun,
  env: NodeJS.ProcessEnv,
  prewarmed: PrewarmedWorker,
): Promise<Begun | null> {
  let started: Promise<StartedThread> | null = null;
  try {
    const cwd = process.cwd();
    const isNamed = root !== undefined || env[rootVariable];
    const project = isNamed ? null : await findProject(cwd, env);
    if (root === undefined && (env[hostVariable] || project?.host)) return { prewarmed };
    const store = openRoot({ path: root, env, project });
    // What is due waits for others than this command, and not for its thread.
    if (isAnythingDue(store)) return { prewarmed };
    started = startThread(store, { workflow, prompt, options: {}, env, cwd }, prewarmed);
    const thread = await started;
    const { results } = processOutput();
    const text = `${thread.threadId}\n`;
    results.write(json ? jsonDocument(thread, results.terminal) : text);
    return null;
  } catch {
    // The command meets the same error and reports it.
    return started ? { started } : { prewarmed };
  }
}
