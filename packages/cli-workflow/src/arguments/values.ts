import { createReadStream } from "node:fs";
import type { ErrorKind } from "@uncaged/workflow/host";
import { readDocument } from "@uncaged/workflow/document";
import { exactJson, losslessJson, messageOf, show } from "@uncaged/workflow/internal";
import { codeOf } from "../output/output.ts";
import { badOption, wrongUse } from "../session/errors.ts";
import { badJson, emptyText, unreadText } from "./errors.ts";

const optionName = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/** Returns the value of a JSON option: the JSON itself, or `@file` for a file with the JSON. */
export async function jsonOf(option: string, text: string): Promise<unknown> {
  if (!text.startsWith("@")) return parsedJson(option, text);
  const file = text.slice(1);
  return parsedJson(option, await readText(file, option), file);
}

/**
 * Parses repeated options of the form `name=value`. Parses an exact JSON object, array, boolean, null or number, and
 * keeps other text. Refuses text that begins like an object or array but is invalid JSON.
 */
export function optionsOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^([^=]*)=([\s\S]*)$/.exec(pair) ?? [];
      if (optionName.test(name)) return [name, exactOrText(`--option ${name}`, value)];
      throw badOption(
        "--option",
        pair,
        "give a name and its value: --option model=fast, or --option 'limit=3'",
      );
    }),
  );
}

/**
 * Parses exact JSON; returns other text unchanged.
 * @throws WorkflowError `BAD_JSON` for invalid text that begins like JSON.
 */
function exactOrText(option: string, text: string): unknown {
  if (/^\s*[{[]/.test(text)) return parsedJson(option, text);
  const exact = exactJson(text);
  return exact ? exact.value : text;
}

/** Like {@link exactOrText}, but quoted text is returned without its quotes. */
export const looseJson = (option: string, text: string): unknown =>
  /^\s*"/.test(text) ? parsedJson(option, text) : exactOrText(option, text);

/**
 * Parses a JSON text.
 * @throws WorkflowError `BAD_JSON`, including for a duplicate key and for a number that would be rounded.
 */
function parsedJson(option: string, text: string, file = option): unknown {
  const read = losslessJson(text.replace(/^\uFEFF/, ""));
  if (read) return read.value;
  const problem = jsonProblem(text, file) ?? `${file}: a number can't be kept exactly`;
  throw badJson(problem, option, file === option ? text : null);
}

function jsonProblem(text: string, file: string): string | null {
  try {
    readDocument(text, file.replace(/\.ya?ml$/i, "$&.json"));
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the answer given by `--input` and `--token`; undefined without them. */
export async function inputOf(text: string | undefined, token?: string) {
  if (text === undefined) {
    if (token === undefined) return undefined;
    const hint = "give the answer too: --input TEXT";
    throw wrongUse("--token without an answer", hint);
  }
  const content = await textOrStdin(text, "--input");
  return { content, ...(token === undefined ? {} : { meta: { token } }) };
}

const stdin = "-";

/** Maximum size of a text, in bytes: the limit of a log record. */
const longestText = 64 * 1024 * 1024;

/** Returns the prompt given by `--prompt` or `--prompt-file`, byte for byte; undefined without them. */
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

/**
 * Reads the text of a file, or of stdin for `-`. Refuses empty text, because the program that should have
 * written the text may have failed.
 */
async function readSomeText(path: string, option: string): Promise<string> {
  const text = await readText(path, option);
  if (text !== "") return text;
  throw emptyText(option, path === stdin ? "stdin" : show(path));
}

/** Reads the text of a file, or of stdin for `-`. */
export async function readText(path: string, option: string): Promise<string> {
  const isStdin = path === stdin;
  const refuse = (code: string, kind: ErrorKind, problem: string) =>
    unreadText(code, kind, `${option}: ${isStdin ? "stdin" : show(path)} ${problem}`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    // Read in chunks, because a device or a pipe has no size and may have no end.
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
    throw refuse("BAD_FILE", "usage", "is not UTF-8 text");
  }
}
