import { compileAsUsual, compileLate, prewarmForRun } from "@uncaged/workflow/host";
import { exitCodes } from "../output/exit-code.ts";
import type { Begun } from "../session/session.ts";
import type { PlainRun } from "./prewarm.ts";

/** What may stand for a workflow and can be no file. */
const plainName = /^[A-Za-z0-9][\w@-]*$/;
const flags = new Set(["--json", "--quiet", "-q", "--no-color"]);

/**
 * Does what the words of the command line say, and gives the exit code. This module is the first that a command loads, and
 * imports next to nothing: a `run` has its worker's process begin before anything else is loaded.
 */
export async function begin(argv: readonly string[]): Promise<number> {
  const prewarmed = prewarmForRun(argv);
  const umask = process.umask(0o077);
  const plain = readPlain(argv);
  let begun: Begun | null = { prewarmed };
  if (plain && prewarmed) {
    // All of it runs once, while the worker begins.
    compileLate();
    const { runPlain } = await import("./prewarm.ts");
    begun = await runPlain(plain, process.env, prewarmed);
    compileAsUsual();
  }
  if (!begun) return exitCodes.done;
  const { main } = await import("./program.ts");
  return await main(umask, begun);
}

/** Reads the words of a plain `run`; null where they are another command, have other options, or may be wrong. */
function readPlain([command, workflow = "", ...rest]: readonly string[]): PlainRun | null {
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
