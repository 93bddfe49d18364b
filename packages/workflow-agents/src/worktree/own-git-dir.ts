import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/*
 * Git reads hooks, filters, merge drivers, a file system monitor, remotes and further files from the configuration of a
 * repository, and any process in the repository can change this configuration. Therefore git gets a separate common
 * directory, with links to the repository's data, no hooks, and a configuration with only the storage format and the
 * committer. Because this is an allowlist, git does not read other settings.
 */

const data: readonly string[] = [
  ...["objects", "refs", "packed-refs", "reftable", "logs", "info", "shallow", "worktrees", "HEAD"],
];
const stored =
  /^(core\.(repositoryformatversion|bare|filemode|symlinks|ignorecase|precomposeunicode|sharedrepository)|extensions\.(objectformat|refstorage)|(user|author|committer)\.(name|email))$/;
const mostBytes = 1024 * 1024;

/** Returns the text of a repository's configuration, or "" if the file is missing, not a regular file or too large. */
function configOf(repository: string): string {
  let file: number;
  try {
    file = openSync(join(repository, "config"), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return "";
  }
  try {
    const stats = fstatSync(file);
    return stats.isFile() && stats.size <= mostBytes ? readFileSync(file, "utf8") : "";
  } finally {
    closeSync(file);
  }
}

const known = new Map<string, string>();

/**
 * Creates a common directory for a repository in `folder`, and returns its path. `list` returns git's list of the
 * settings in a text, without included files.
 */
export async function ownGitDir(
  folder: string,
  repository: string,
  list: (text: string) => Promise<string>,
): Promise<string> {
  const path = join(
    folder,
    `.git-${createHash("sha256").update(repository).digest("hex").slice(0, 12)}`,
  );
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const config = configOf(repository);
  if (known.get(path) !== config || !isThere(join(path, "config"))) {
    const aside = join(path, `config.${crypto.randomUUID().slice(0, 8)}`);
    writeFileSync(aside, inert(config === "" ? "" : await list(config)), { mode: 0o600 });
    renameSync(aside, join(path, "config"));
    known.set(path, config);
  }
  for (const name of data) {
    if (isThere(join(path, name)) || !isThere(join(repository, name))) continue;
    try {
      symlinkSync(join(repository, name), join(path, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  return path;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Returns a configuration with only the allowed settings in the output of `git config --list -z`. */
function inert(listed: string): string {
  const lines = listed.split("\0").flatMap((entry) => {
    const end = entry.indexOf("\n");
    const key = (end < 0 ? entry : entry.slice(0, end)).toLowerCase();
    if (!stored.test(key)) return [];
    const [section, name] = key.split(".");
    const value = end < 0 ? "true" : entry.slice(end + 1);
    const text = value.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
    return [`[${section}]\n\t${name} = "${text}"\n`];
  });
  return lines.join("");
}
