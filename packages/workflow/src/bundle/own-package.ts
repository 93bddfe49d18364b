import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";

/** The package that a source may import without having it installed. */
export const ownName = "@uncaged/workflow";

/**
 * Resolves the named packages to the given files, and `@uncaged/workflow` to the copy that is running,
 * where the importing file has none of its own.
 */
export function ownPackages(resolve: Readonly<Record<string, string>>): BunPlugin {
  return {
    name: "own-packages",
    setup(build) {
      build.onResolve({ filter: /^@uncaged\/workflow$/ }, ({ resolveDir }) => {
        try {
          Bun.resolveSync(ownName, resolveDir);
          return undefined;
        } catch {
          return { path: ownIndex() };
        }
      });
      for (const [name, path] of Object.entries(resolve)) {
        const filter = new RegExp(`^${RegExp.escape(name)}$`);
        build.onResolve({ filter }, () => ({ path }));
      }
    },
  };
}

// Packed, this file stands in a `dist`: that of the package itself, or of one that depends on it.
function ownIndex(): string {
  if (import.meta.url.endsWith(".ts"))
    return fileURLToPath(new URL("../index.ts", import.meta.url));
  return Bun.resolveSync(ownName, import.meta.dir);
}
