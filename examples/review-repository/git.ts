import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { StepContext } from "@uncaged/workflow";

const run = promisify(execFile);
const maxBuffer = 256 * 1024 * 1024;
const plain = ["--no-pager", "-c", "log.showRoot=true", "-c", "log.diffMerges=off"];

/** A commit with its changed files; a merge has none. */
export type Commit = { id: string; subject: string; paths: string[] };

/** Runs git in the thread's folder and returns its output. Killing the thread also ends git. */
export async function git(here: StepContext, ...args: string[]): Promise<string> {
  const { cwd, signal } = here;
  if (!existsSync(cwd)) throw new Error(`no such folder: ${cwd}`);
  // The result must depend only on the commit, not on the environment's repository, language or settings.
  const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...shell } = here.env;
  const env = { ...shell, LC_ALL: "C" };
  try {
    return (await run("git", [...plain, ...args], { cwd, env, signal, maxBuffer })).stdout;
  } catch (error) {
    throw new Error(reasonOf(error, cwd), { cause: error });
  }
}

/** Returns the last 500 commits up to the given commit, newest first. */
export async function commitsUpTo(commit: string, here: StepContext): Promise<Commit[]> {
  const format = [
    "--format=%x01%h%x02%s",
    "--name-only",
    "--no-renames",
    "--no-show-signature",
    "-z",
  ];
  const log = await git(here, "log", "-n", "500", ...format, commit, "--");
  return log
    .split("\u0001")
    .slice(1)
    .map((text) => {
      const [head = "", ...paths] = text.split("\0");
      const [id = "", subject = ""] = head.split("\u0002");
      return { id, subject, paths: paths.map((path) => path.trimStart()).filter(Boolean) };
    });
}

function reasonOf(error: unknown, cwd: string): string {
  const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
  if (code === "ENOENT") return "git was not found: install it, or put it on the PATH";
  if (stderr.includes("not a git repository")) return `${cwd} is not a git repository`;
  return `git: ${stderr.trim().split("\n")[0] || (error instanceof Error ? error.message : "failed")}`;
}
