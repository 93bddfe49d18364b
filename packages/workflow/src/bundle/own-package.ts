import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";

/** The package that a source may import without having it installed. */
export const ownName = "@uncaged/workflow";

/** Resolves `@uncaged/workflow` to the copy that is running, where the source has none of its own. */
export const ownPackage: BunPlugin = {
  name: "own-package",
  setup(build) {
    const index = import.meta.url.endsWith(".ts") ? "../index.ts" : "./index.js";
    const own = fileURLToPath(new URL(index, import.meta.url));
    build.onResolve({ filter: /^@uncaged\/workflow$/ }, ({ resolveDir }) => {
      try {
        Bun.resolveSync(ownName, resolveDir);
        return undefined;
      } catch {
        return { path: own };
      }
    });
  },
};
