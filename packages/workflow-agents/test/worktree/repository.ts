import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A git repository for a test, without the git settings of the machine. */
export class TestRepository {
  readonly folder: string;
  readonly env: Record<string, string>;

  constructor(folder: string, { commit = true, bare = false } = {}) {
    this.folder = folder;
    const home = `${folder}-home`;
    for (const one of [folder, home]) mkdirSync(one, { recursive: true });
    this.env = { PATH: process.env.PATH ?? "", HOME: home, GIT_CONFIG_NOSYSTEM: "1" };
    this.git("init", "-q", "-b", "main", ...(bare ? ["--bare"] : []));
    if (!commit) return;
    this.write("README.md", "# It\n");
    this.git("add", "-A");
    this.commit("first");
  }

  write(name: string, text: string): void {
    mkdirSync(join(this.folder, name, ".."), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  commit(message: string): void {
    const who = ["-c", "user.name=Me", "-c", "user.email=me@example.org"];
    this.git(...who, "commit", "-q", "--allow-empty", "-m", message);
  }

  /** Runs git and returns its output. Throws if git fails. */
  git(...args: string[]): string {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...args], {
      cwd: this.folder,
      env: this.env,
    });
    if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.toString()}`);
    return stdout.toString();
  }

  /** Returns the user's view of the repository: the checkout, its index, the stash, branches, worktrees, refs. */
  seen(): Record<string, string> {
    const commands = [
      "status --porcelain",
      "stash list",
      "branch --all",
      "worktree list --porcelain",
    ];
    const seen = Object.fromEntries(commands.map((one) => [one, this.git(...one.split(" "))]));
    return { ...seen, refs: this.git("for-each-ref"), head: this.git("rev-parse", "HEAD") };
  }

  /** Returns the paths of the files in a commit. */
  files(commit: string): string[] {
    return this.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0").filter(Boolean);
  }
}
