import { execFile } from "node:child_process";
import { realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import type { Environment } from "../system/port.ts";

/** The real path of a command on `PATH`, or of an absolute path; null when no executable file is there. */
export function findCommand(command: string, { PATH = "" }: Environment): string | null {
  const candidates = command.includes(sep)
    ? [command].filter(isAbsolute)
    : PATH.split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, command));
  for (const candidate of candidates) {
    const path = realOrNull(candidate);
    const stats = path === null ? null : statSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() && (stats.mode & 0o111) !== 0) return path;
  }
  return null;
}

function realOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

const known = new Map<string, Promise<string | null>>();
const knownMs = 60_000;
const probeMs = 10_000;

/** The output of a command; null when it fails or takes more than ten seconds. The answer is kept for a minute. */
export function outputOf(argv: readonly string[], env: Environment): Promise<string | null> {
  const key = JSON.stringify([argv, env.PATH]);
  const before = known.get(key);
  if (before) return before;
  const [file = "", ...args] = argv;
  const answer = new Promise<string | null>((resolve) => {
    const options = { env: { ...env }, timeout: probeMs, killSignal: "SIGKILL" } as const;
    execFile(file, args, options, (error, stdout) => resolve(error === null ? stdout : null));
  });
  known.set(key, answer);
  setTimeout(() => known.delete(key), knownMs).unref();
  return answer;
}
