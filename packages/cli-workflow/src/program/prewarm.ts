import {
  findProject,
  hostVariable,
  isAnythingDue,
  openLocalHost,
  type PrewarmedWorker,
  rootVariable,
  type StartedThread,
} from "@uncaged/workflow/host";
import { jsonDocument, processOutput } from "../output/output.ts";
import type { Begun } from "../session/session.ts";

/**
 * Runs a plain `run <workflow>` in the worker's process that was started for it, without the command line's parser.
 * Gives what the command then has left to do: nothing (null), or to report what was begun. Only where nothing can be
 * wrong with the arguments, for a command that is refused must leave no trace; any other `run` starts its thread when
 * its arguments have been parsed.
 */
export async function runPlain(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  prewarmed: PrewarmedWorker,
): Promise<Begun | null> {
  const plain = readPlain(argv);
  if (!plain) return { prewarmed };
  let started: Promise<StartedThread> | null = null;
  try {
    const { workflow, prompt, root } = plain;
    const cwd = process.cwd();
    const isNamed = root !== undefined || env[rootVariable];
    const project = isNamed ? null : await findProject(cwd, env);
    if (root === undefined && (env[hostVariable] || project?.host)) return { prewarmed };
    const host = openLocalHost({ path: root, env, project, prewarmed });
    // What is due waits for others than this command, and not for its thread.
    if (isAnythingDue(host.root)) return { prewarmed };
    started = host.start({ workflow, prompt, options: {}, env, cwd });
    const thread = await started;
    const { results } = processOutput();
    const text = `${thread.threadId}\n`;
    results.write(plain.json ? jsonDocument(thread, results.terminal) : text);
    return null;
  } catch {
    // The command meets the same error and reports it.
    return started ? { started } : { prewarmed };
  }
}

/** What may stand for a workflow and can be no file. */
const plainName = /^[A-Za-z0-9][\w@-]*$/;
const flags = new Set(["--json", "--quiet", "-q", "--no-color"]);

function readPlain([command, workflow = "", ...rest]: readonly string[]) {
  if (command !== "run" || !plainName.test(workflow)) return null;
  let root: string | undefined;
  let prompt = "";
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] as string;
    if (flags.has(word)) continue;
    const value = rest[at + 1];
    if ((word !== "--prompt" && word !== "--root") || !value || value.startsWith("-")) return null;
    if (word === "--root") root = value;
    else prompt = value;
    at += 1;
  }
  return { workflow, prompt, root, json: rest.includes("--json") };
}
