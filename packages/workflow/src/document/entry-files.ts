import { existsSync } from "node:fs";
import { join } from "node:path";

/** Archive of a project with the packages from which the packed command builds bundles. */
export const libraryName = "library.tar";

/**
 * Returns the files of entry points by their import names, for builds. `from` is the `import.meta` of the caller; the
 * entry points belong to the caller's package or its dependencies. Returns an empty object in the packed command, whose
 * library contains the entry points.
 */
export function entryFiles(
  from: { dir: string },
  entryPoints: readonly string[],
): Record<string, string> {
  if (existsSync(join(from.dir, libraryName))) return {};
  return Object.fromEntries(entryPoints.map((name) => [name, Bun.resolveSync(name, from.dir)]));
}
