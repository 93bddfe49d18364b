import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import type { Problem } from "../host/host.ts";
import { namesIn } from "../storage/list.ts";
import { isHash, isThreadId } from "../storage/names.ts";
import { bundlesDir, logsDir, type Root, runDir, trashDir } from "../storage/paths.ts";
import { isAside } from "./leftovers.ts";

type Kind = "file" | "folder" | "socket";
type Rule = (name: string) => Kind | null;

/**
 * Goes through every file of a storage root without opening one. Names what is none of ours, links
 * and special files in the place of ours, and what others than the owner can reach.
 */
export function takeInventory(root: Root): Problem[] {
  const problems = [bundlesDir(root), runDir(root)].flatMap((folder) => look(folder, rules.flat));
  problems.push(...look(root, rules.root), ...look(logsDir(root), rules.logs));
  for (const name of namesIn(logsDir(root)).filter(isHash)) {
    problems.push(...look(join(logsDir(root), name), rules.threads));
  }
  return problems.concat(look(trashDir(root), rules.trash));
}

/** Whether there is a plain file, and so one that can be opened without waiting. */
export const isPlainFile = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const flatFile = /^[0-9A-Z]{13}\.(esm\.js|yaml|d\.ts|map|lock|holder|log)$/;
const registryFiles = new Set(["workflow.yaml", "workflow.yaml.bak"]);
const folders = new Set(["bundles", "logs", "run", "trash"]);

const rules = {
  root: (name) => (registryFiles.has(name) ? "file" : folders.has(name) ? "folder" : null),
  flat: (name) => {
    if (name.endsWith(".sock")) return isHash(name.slice(0, -5)) ? "socket" : null;
    return flatFile.test(name) || name === "registry.lock" ? "file" : null;
  },
  logs: (name) => (isHash(name) ? "folder" : null),
  threads: (name) => {
    const ending = /^\.(data\.jsonl|info\.jsonl|values\.jsonl|torn-\d+)$/.test(name.slice(26));
    return ending && isThreadId(name.slice(0, 26)) ? "file" : null;
  },
  trash: (name) => (/^\d{1,16}-[0-9A-Z]{13}$/.test(name) ? "folder" : null),
} satisfies Record<string, Rule>;

function look(folder: string, rule: Rule): Problem[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return [];
    const wanted = isAside(name) ? "file" : rule(name);
    const message = wanted === null ? "is no file of ours" : faultOf(found, wanted);
    return message === null ? [] : [{ path, message }];
  });
}

function faultOf(found: Stats, wanted: Kind): string | null {
  const kind = kindOf(found);
  if (kind !== wanted) return `is a ${kind}, not a ${wanted}`;
  const mode = found.mode & 0o777;
  if ((mode & 0o077) === 0) return null;
  const right = wanted === "folder" ? "700" : "600";
  return `is open to other users (mode ${mode.toString(8)}): chmod ${right}`;
}

function kindOf(found: Stats): string {
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "folder";
  if (found.isSocket()) return "socket";
  return found.isSymbolicLink() ? "symbolic link" : "special file";
}
