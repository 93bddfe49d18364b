import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The `tsconfig.json` that belongs to a source: the nearest one between it and its project's
 * `package.json`, both included; null when there is none.
 *
 * What lies above the project is another's: it would make the bytes depend on the folder.
 */
export function projectConfig(source: string): string | null {
  const folders = projectFolders(dirname(source));
  return folders.map((folder) => join(folder, "tsconfig.json")).find(existsSync) ?? null;
}

// From the source up to the folder with package.json; only the source's own when there is none.
function projectFolders(start: string): string[] {
  const folders = [start];
  for (let folder = start; !existsSync(join(folder, "package.json")); ) {
    const above = dirname(folder);
    if (above === folder) return [start];
    folders.push(above);
    folder = above;
  }
  return folders;
}
