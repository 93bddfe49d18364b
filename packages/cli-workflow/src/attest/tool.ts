import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporary } from "@uncaged/workflow/internal";
import { exitCodes } from "../output/exit-code.ts";
import type { Session } from "../session/session.ts";
import { noSigner } from "./errors.ts";

/** A program that signs and verifies, and the packages that contain it. */
export type Tool = { program: string; packages: string };

/** The file of a private key, its name in the command line, and the signal of Ctrl-C. */
export type SigningKey = { path: string; given: string; signal: AbortSignal };

/** The prompt of minisign, on stderr. ssh-keygen uses the terminal. */
const prompt = "Password: ";

/** The result of a program. `problem` is the line of its stderr that states the failure. */
export type Outcome = {
  isDone: boolean;
  isInterrupted: boolean;
  stdout: string;
  problem: string;
};

/**
 * Runs a program until it ends or `signal` is aborted. A program that may ask for a passphrase inherits stdin.
 * @throws WorkflowError `NO_SIGNER` if the program is not installed.
 */
export async function runTool(
  { env, cwd, output }: Session,
  { program, packages }: Tool,
  args: readonly string[],
  stdin: Uint8Array | "inherit" | "ignore",
  signal?: AbortSignal,
): Promise<Outcome> {
  const path = Bun.which(program, { PATH: env.PATH ?? "" });
  if (path === null) throw noSigner(program, packages);
  const stdio = { stdout: "pipe", stderr: "pipe" } as const;
  const child = Bun.spawn([path, ...args], { env, cwd, stdin, signal, ...stdio });
  let text = "";
  const listen = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      text += decoder.decode(chunk, { stream: true });
      if (text.endsWith(prompt)) output.notes.write(prompt);
    }
    if (text.includes(prompt)) output.notes.write("\n");
  };
  const [stdout, code] = await Promise.all([child.stdout.text(), child.exited, listen()]);
  const isInterrupted = signal?.aborted === true || code === exitCodes.interrupted;
  const problem = problemIn(text) || `the program ended with code ${code}`;
  return { isDone: code === 0, isInterrupted, stdout, problem };
}

/** Returns the line of a program's stderr that states the problem, without prompts and banners. */
const problemIn = (stderr: string): string =>
  stderr
    .split("\n")
    .map((line) => line.replace(/^(Enter passphrase[^:]*|Password): |[.\s]+$/g, ""))
    .find((line) => line !== "" && !/^@|^Signing |^Deriving /.test(line)) ?? "";

/** Calls a function with paths of temporary files of these contents, and removes the files. */
export async function withFiles<Result>(
  contents: readonly (Uint8Array | string)[],
  use: (paths: string[]) => Promise<Result>,
): Promise<Result> {
  const folder = makeTemporary("uncaged-workflow-");
  try {
    const paths = contents.map((_, n) => join(folder, String(n)));
    for (const [n, content] of contents.entries())
      writeFileSync(paths[n] as string, content, { mode: 0o600 });
    return await use(paths);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
