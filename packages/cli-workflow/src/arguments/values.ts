import { createReadStream } from "node:fs";
import { type ErrorKind, WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";
import { codeOf } from "../output/output.ts";
import { badOption, wrongUse } from "../session/failure.ts";

const optionName = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/** The value of an option that takes JSON: the JSON itself, or `@file` for a file that holds it. */
export async function jsonOf(option: string, text: string): Promise<unknown> {
  const source = text.startsWith("@") ? await readText(text.slice(1), option) : text;
  try {
    return JSON.parse(source);
  } catch (error) {
    throw badJson(option, source, error);
  }
}

/**
 * Options of the form `name=value`, repeated: each value as JSON when it is JSON, else as the text. What
 * begins like JSON (`{`, `[` or `"`) and is none is refused.
 */
export function optionsOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^([^=]*)=([\s\S]*)$/.exec(pair) ?? [];
      if (optionName.test(name)) return [name, looseJson(`--option ${name}`, value)];
      throw badOption(
        "--option",
        pair,
        "give a name and its value: --option model=fast, or --option 'limit=3'",
      );
    }),
  );
}

/** A text as JSON when it is JSON, else itself. @throws WorkflowError `BAD_JSON` for what begins like JSON and is none. */
export function looseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (/^\s*[{["]/.test(text)) throw badJson(option, text, error);
    return text;
  }
}

function badJson(option: string, text: string, error: unknown): WorkflowError {
  const why = error instanceof Error ? error.message : String(error);
  return WorkflowError.usage(
    "BAD_JSON",
    `${option} is no JSON: ${show(text)} (${why})`,
    `quote it for the shell: ${option.split(" ")[0]} '{"key":"value"}'`,
  );
}

/** The answer that `--input` and `--token` give, or undefined for none. */
export async function inputOf(text: string | undefined, token?: string) {
  if (text === undefined) {
    if (token === undefined) return undefined;
    const hint = "give the answer too: --input TEXT";
    throw wrongUse("--token belongs to an answer, and there is none", hint);
  }
  const content = await textOrStdin(text, "--input");
  return { content, ...(token === undefined ? {} : { meta: { token } }) };
}

const stdin = "-";

/** The longest text that is read, in bytes: a log takes no longer record. */
const longestText = 64 * 1024 * 1024;

/** The prompt that `--prompt` and `--prompt-file` give, byte for byte, or undefined for none. */
export async function promptOf({
  prompt,
  promptFile,
}: {
  prompt?: string;
  promptFile?: string;
}): Promise<string | undefined> {
  if (prompt !== undefined && promptFile !== undefined) {
    throw wrongUse("--prompt and --prompt-file can't be used together", "give one of them");
  }
  if (promptFile !== undefined) return await readSomeText(promptFile, "--prompt-file");
  return prompt === undefined ? undefined : await textOrStdin(prompt, "--prompt");
}

export async function textOrStdin(text: string, option: string): Promise<string> {
  return text === stdin ? await readSomeText(stdin, option) : text;
}

/** The text of a file, or of stdin for `-`, that must not be empty: what should have written it has perhaps failed. */
async function readSomeText(path: string, option: string): Promise<string> {
  const text = await readText(path, option);
  if (text !== "") return text;
  const what = path === stdin ? "stdin" : show(path);
  const hint = "see whether what should write it has failed; an empty text is given by ''";
  throw WorkflowError.usage("EMPTY_TEXT", `${option}: ${what} is empty`, hint);
}

/** The text of a file, or of stdin for `-`. */
export async function readText(path: string, option: string): Promise<string> {
  const isStdin = path === stdin;
  const refuse = (code: string, kind: ErrorKind, what: string) => {
    const message = `${option}: ${isStdin ? "stdin" : show(path)} ${what}`;
    return WorkflowError[kind](code, message, "give the path of a text file, or - for stdin");
  };
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    // By pieces: a device or a pipe has no size, and may have no end.
    for await (const chunk of isStdin ? Bun.stdin.stream() : createReadStream(path)) {
      chunks.push(chunk as Uint8Array);
      length += (chunk as Uint8Array).length;
      if (length > longestText) break;
    }
  } catch (error) {
    const code = codeOf(error);
    if (path === "" || ["ENOENT", "ENOTDIR", "ENAMETOOLONG"].includes(code)) {
      throw refuse("FILE_NOT_FOUND", "missing", "does not exist");
    }
    if (code === "EISDIR") throw refuse("BAD_FILE", "usage", "is a folder, not a file");
    throw refuse("FILE_UNREADABLE", "failed", `can't be read (${code})`);
  }
  if (length > longestText) throw refuse("BAD_FILE", "usage", "is longer than 64 MiB");
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(Buffer.concat(chunks));
  } catch {
    throw refuse("BAD_FILE", "usage", "is no UTF-8 text");
  }
}
