import { mkdtempSync, readFileSync, symlinkSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";
import { entryFiles } from "../document/entry-files.ts";

/**
 * The packages that a source may import without having them installed: it then gets the copies that are running. They
 * are `@uncaged/workflow`, and in a standalone binary all that it has inside for this purpose.
 */
export type OwnPackages = {
  names: readonly string[];
  /** The file that an import of one of them stands for; null where it has no such entry point. */
  fileOf(specifier: string): Promise<string | null>;
};

const coreName = "@uncaged/workflow";
const ofCore = `node_modules/${coreName}/**`;

/** The entry points of the core that a bundle may have parts of. */
const forBundles = [coreName, `${coreName}/interpreter`, `${coreName}/records`];

/** @param folder where a standalone binary may write its packages for one build, when they are needed */
export async function findOwnPackages(folder: string): Promise<OwnPackages> {
  if (!Bun.isStandaloneExecutable) {
    return { names: [coreName], fileOf: async (name) => coreFiles()[name] ?? null };
  }
  // A project whose dependencies are these packages; it is put here by the script that makes the binary.
  const path = fileURLToPath(new URL("./library.tar", import.meta.url));
  const archive = new Bun.Archive(readFileSync(path));
  const manifest = await (await archive.files("package.json")).get("package.json")?.text();
  const { dependencies } = JSON.parse(manifest ?? "{}") as { dependencies: object };
  const extract = once(() => archive.extract(folder, { glob: ofCore }));
  const extractRest = once(() => archive.extract(folder, { glob: ["**", `!${ofCore}`] }));
  return {
    names: Object.keys(dependencies),
    async fileOf(specifier) {
      await extract();
      // The core depends on nothing, and most sources import nothing else.
      if (!forBundles.includes(specifier)) await extractRest();
      return resolved(specifier, folder);
    },
  };
}

function once<Result>(act: () => Result): () => Result {
  let done: Result | null = null;
  return () => (done ??= act());
}

function resolved(specifier: string, folder: string): string | null {
  try {
    return Bun.resolveSync(specifier, folder);
  } catch {
    return null;
  }
}

const coreFiles = once(() => entryFiles(import.meta, forBundles));

/**
 * A path to the same file without two dots in a row: of a plugin Bun takes none that has them, as in a folder `a..b`.
 * What leads past that folder is a link in `out`.
 */
function withoutDots(path: string, out: string): string {
  const end = path.indexOf(sep, path.lastIndexOf(".."));
  if (!path.includes("..") || end < 0) return path;
  const link = mkdtempSync(join(out, "own-"));
  symlinkSync(path.slice(0, end), join(link, "past"));
  return join(link, "past", path.slice(end));
}

/**
 * Resolves the named packages to the given files, and our own to the copies that are running where the importing file
 * has none of its own. `out` is a folder for this build alone.
 */
export function lend(
  own: OwnPackages,
  resolve: Readonly<Record<string, string>>,
  out: string,
): BunPlugin {
  return {
    name: "own-packages",
    setup(build) {
      for (const [name, path] of Object.entries(resolve)) {
        const known = { path: withoutDots(path, out) };
        build.onResolve({ filter: new RegExp(`^${RegExp.escape(name)}$`) }, () => known);
      }
      for (const name of own.names) {
        const filter = new RegExp(`^${RegExp.escape(name)}(/|$)`);
        build.onResolve({ filter }, async ({ path: specifier, resolveDir }) => {
          if (resolved(specifier, resolveDir) !== null) return undefined;
          const path = await own.fileOf(specifier);
          return path === null ? undefined : { path: withoutDots(path, out) };
        });
      }
    },
  };
}
