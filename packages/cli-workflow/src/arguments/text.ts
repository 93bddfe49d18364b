import { createReadStream } from "node:fs";
import { type ErrorKind, show, WorkflowError } from "@uncaged/workflow/host";
import { codeOf } from "../output/output.ts";
import { wrongUse } from "../session/failure.ts";

const stdin = "-";

/** The longest text that is read, in bytes: a log takes no longer record. */
const longestText = 64 * 1024 * 1024;

type PromptOptions = { prompt?: string; promptFile?: string };

/** The prompt that `--prompt` and `--prompt-file` give, byte for byte, or undefined for none. */
export async function promptOf(options: PromptOptions): Promise<string | undefined> {
  const { prompt, promptFile } = options;
  if (prompt !== undefined && promptFile !== undefined) {
    throw wrongUse("--prompt and --prompt-file can't be used together", "give one of them");
  }
  if (promptFile !== undefined) return await readText(promptFile, "--prompt-file");
  return prompt === undefined ? undefined : await textOrStdin(prompt, "--prompt");
}

export async function textOrStdin(text: string, option: string): Promise<string> {
  return text === stdin ? await readText(stdin, option) : text;
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
