import { type Prewarmed, prewarmWorker } from "@uncaged/workflow/host";

const flags = new Set(["--json", "--quiet", "-q", "--no-color"]);

/**
 * Prewarms the worker of a plain `run <workflow>`: it starts while the command line is still loading. Only
 * where nothing can be wrong with the arguments, for a command that is refused must leave no trace; any
 * other `run` starts its worker when its arguments have been parsed.
 */
export async function prewarm(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Prewarmed | null> {
  const plain = readPlain(argv);
  if (!plain) return null;
  try {
    process.cwd();
    return await prewarmWorker({ path: plain.root, env }, plain.workflow);
  } catch {
    // The command meets the same error and reports it.
    return null;
  }
}

function readPlain([command, workflow, ...rest]: readonly string[]) {
  if (command !== "run" || !workflow || workflow.startsWith("-")) return null;
  let root: string | undefined;
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] as string;
    if (flags.has(word)) continue;
    const value = rest[at + 1];
    if ((word !== "--prompt" && word !== "--root") || !value || value.startsWith("-")) return null;
    if (word === "--root") root = value;
    at += 1;
  }
  return { workflow, root };
}
