import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { show, WorkflowError } from "@uncaged/workflow/host";

/** The path that stands for stdin. */
const stdin = "-";

/** The longest text that is read, in bytes: a log takes no longer record. */
const longestText = 64 * 1024 * 1024;

type PromptOptions = { prompt?: string; promptFile?: string };

/**
 * The prompt that `--prompt` and `--prompt-file` give, byte for byte, or undefined for none.
 * @throws WorkflowError `BAD_OPTION` (usage) for both at once, and those of {@link readText}.
 */
export async function promptOf(options: PromptOptions): Promise<string | undefined> {
  const { prompt, promptFile } = options;
  if (prompt !== undefined && promptFile !== undefined) {
    throw new WorkflowError({
      code: "BAD_OPTION",
      kind: "usage",
      message: "--prompt and --prompt-file can't be used together",
      hint: "give one of them",
    });
  }
  if (promptFile !== undefined) return await readText(promptFile, "--prompt-file");
  return prompt === undefined ? undefined : await textOrStdin(prompt, "--prompt");
}

/** The text that was given, or all of stdin for `-`. */
export async function textOrStdin(text: string, option: string): Promise<string> {
  return text === stdin ? await readText(stdin, option) : text;
}

/**
 * The text of a file, or of stdin for `-`.
 * @throws WorkflowError `FILE_NOT_FOUND` (missing), `BAD_FILE` (usage): a folder, not UTF-8,
 * longer than 64 MiB; `FILE_UNREADABLE`.
 */
export async function readText(path: string, option: string): Promise<string> {
  const bytes = path === stdin ? await readStdin() : readFile(path, option);
  if (bytes.length > longestText) {
    throw refusal("BAD_FILE", "usage", option, path, "is longer than 64 MiB");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refusal("BAD_FILE", "usage", option, path, "is no UTF-8 text");
  }
}

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of Bun.stdin.stream()) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > longestText) break;
  }
  return Buffer.concat(chunks);
}

function readFile(path: string, option: string): Uint8Array {
  let fd: number | null = null;
  try {
    fd = openSync(path, "r");
    if (fstatSync(fd).isDirectory()) {
      throw refusal("BAD_FILE", "usage", option, path, "is a folder, not a file");
    }
    return readUpTo(fd);
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || path === "") {
      throw refusal("FILE_NOT_FOUND", "missing", option, path, "does not exist");
    }
    throw refusal("FILE_UNREADABLE", "failed", option, path, `can't be read (${String(code)})`);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

// By pieces: a device or a pipe has no size, and may have no end.
function readUpTo(fd: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  for (let length = 0; length <= longestText; ) {
    const got = readSync(fd, buffer);
    if (got === 0) break;
    chunks.push(Uint8Array.prototype.slice.call(buffer, 0, got));
    length += got;
  }
  return Buffer.concat(chunks);
}

function refusal(
  code: string,
  kind: "usage" | "missing" | "failed",
  option: string,
  path: string,
  what: string,
): WorkflowError {
  const subject = path === stdin ? "stdin" : show(path);
  return new WorkflowError({
    code,
    kind,
    message: `${option}: ${subject} ${what}`,
    hint: "give the path of a text file, or - for stdin",
  });
}
