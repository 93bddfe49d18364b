import type { Environment } from "@uncaged/workflow/host";
import { findCommand } from "@uncaged/workflow/sandbox";
import { closeSync, openSync, readSync } from "node:fs";
import { join, sep } from "node:path";

/** A program as a sandbox must show it: its real path, and the files and folders of its code. */
export type Program = { path: string; needs: string[] };

/** A command with the package that it is of, and what its first line starts it with; null when it is not there. */
export function programOf(command: string, env: Environment): Program | null {
  const path = findCommand(command, env);
  if (path === null) return null;
  return { path, needs: [path, ...packageOf(path), ...interpreterOf(path, env)] };
}

/** The folder of an npm package; that of its scope, since the parts of a program are packages beside each other. */
function packageOf(path: string): string[] {
  const parts = path.split(`${sep}node_modules${sep}`);
  const inner = parts.pop();
  const [name] = inner?.split(sep) ?? [];
  if (parts.length === 0 || !name) return [];
  return [join(parts.join(`${sep}node_modules${sep}`), "node_modules", name)];
}

const longestLine = 256;

function interpreterOf(path: string, env: Environment): string[] {
  const start = Buffer.alloc(longestLine);
  const file = openSync(path, "r");
  try {
    readSync(file, start, 0, longestLine, 0);
  } finally {
    closeSync(file);
  }
  const [line = ""] = start.toString("latin1").split("\n", 1);
  if (!line.startsWith("#!")) return [];
  return line
    .slice(2)
    .trim()
    .split(/\s+/)
    .flatMap((word) => findCommand(word, env) ?? []);
}
