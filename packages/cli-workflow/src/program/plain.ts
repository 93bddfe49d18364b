/** A `run` with nothing that takes the command line's parser to read. */
export type PlainRun = {
  workflow: string;
  prompt: string;
  root: string | undefined;
  json: boolean;
};

/** What may stand for a workflow and can be no file. */
const plainName = /^[A-Za-z0-9][\w@-]*$/;
const flags = new Set(["--json", "--quiet", "-q", "--no-color"]);

/** Reads the words of a plain `run`; null where they are another command, have other options, or may be wrong. */
export function readPlain([command, workflow = "", ...rest]: readonly string[]): PlainRun | null {
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
