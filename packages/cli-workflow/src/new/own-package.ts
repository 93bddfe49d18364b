import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

/** A package of ours that stands beside this program, and what a package.json calls it. */
export type OwnPackage = { folder: string | null; spec: string };

/** Finds it by its name. A copy that is not published (a checkout) can only be named by its folder. */
export function ownPackage(name: string): OwnPackage {
  const folder = folderOf(name);
  const spec = `^${manifest.version}`;
  if (folder === null) return { folder, spec };
  return { folder, spec: manifestIn(folder)?.private === true ? `file:${folder}` : spec };
}

function folderOf(name: string): string | null {
  try {
    let folder = dirname(Bun.resolveSync(name, import.meta.dir));
    while (manifestIn(folder)?.name !== name) {
      if (dirname(folder) === folder) return null;
      folder = dirname(folder);
    }
    return folder;
  } catch {
    return null;
  }
}

function manifestIn(folder: string): { name?: string; private?: boolean } | null {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return null;
  return JSON.parse(readFileSync(path, "utf8")) as { name?: string; private?: boolean };
}
