import { readFileSync, statSync } from "node:fs";
import { show, WorkflowError } from "@uncaged/workflow/host";

/** The path that stands for stdin. */
const stdin = "-";

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
      message: "--prompt and --prompt-file can't stand together",
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
 * @throws WorkflowError `FILE_NOT_FOUND` (missing), `BAD_FILE` (usage): a folder, not UTF-8;
 * `FILE_UNREADABLE`.
 */
export async function readText(path: string, option: string): Promise<string> {
  const bytes = path === stdin ? await Bun.stdin.bytes() : readFile(path, option);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refusal("BAD_FILE", "usage", option, path, "is no UTF-8 text");
  }
}

function readFile(path: string, option: string): Uint8Array {
  try {
    if (statSync(path).isDirectory()) {
      throw refusal("BAD_FILE", "usage", option, path, "is a folder, not a file");
    }
    return readFileSync(path);
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG" || path === "") {
      throw refusal("FILE_NOT_FOUND", "missing", option, path, "does not exist");
    }
    throw refusal("FILE_UNREADABLE", "failed", option, path, `can't be read (${String(code)})`);
  }
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
