import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const identity = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
  GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
};

/** Runs git in a folder, without the environment's repository settings. */
export function git(folder: string, ...args: string[]): void {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, GIT_CONFIG_NOSYSTEM: "1", ...identity };
  const done = Bun.spawnSync(["git", ...args], { cwd: folder, env, stdin: "ignore" });
  if (done.exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr.toString()}`);
}

/** Creates a repository with these files in its commits. The commit ids are always the same. */
export function makeRepository(folder: string, commits: Record<string, string>[]): void {
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch=main");
  for (const [index, files] of commits.entries()) {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "-m", `change ${index + 1}`);
  }
}
