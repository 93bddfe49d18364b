import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entryPointsOf, type Published, published } from "./published.ts";
import { top } from "./test-files.ts";

/** The compiler's types, in the folder of its configuration. */
export const types = { types: ["bun-types"], typeRoots: [join(top, "node_modules")] };

export type Manifest = {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  peerDependencies?: Record<string, string>;
  sideEffects?: string[] | boolean;
  exports: Record<string, string>;
};

export const manifestOf = (name: Published): Manifest =>
  JSON.parse(readFileSync(join(top, "packages", name, "package.json"), "utf8")) as Manifest;

/** Paths of the packages' sources for the compiler, which emits nothing for a package in `node_modules`. */
const paths = Object.fromEntries(
  published.flatMap((folder) => {
    const { name, exports } = manifestOf(folder);
    return Object.entries(exports).map(([as, path]) => [
      join(name, as),
      [join(top, "packages", folder, path)],
    ]);
  }),
);

/**
 * Emits the declarations of the packages into `<work>/packages`. Each package finds the declarations of the other
 * packages there as if they were installed. The folder must exist.
 */
export function emitDeclarations(work: string): void {
  const files = published.flatMap((name) =>
    entryPointsOf(name).map(({ file }) => join(top, "packages", name, "src", `${file}.ts`)),
  );
  const compilerOptions = {
    ...{ noEmit: false, declaration: true, emitDeclarationOnly: true },
    ...{ rootDir: join(top, "packages"), outDir: join(work, "packages") },
    ...types,
    paths,
  };
  const settings = join(work, "tsconfig.json");
  const content = { extends: join(top, "tsconfig.json"), compilerOptions, files, include: [] };
  writeFileSync(settings, JSON.stringify(content));
  const tsc = join(top, "node_modules/.bin/tsc");
  const { exitCode, stdout } = Bun.spawnSync([tsc, "-p", settings], { cwd: top });
  if (exitCode !== 0) throw new Error(stdout.toString());
  mkdirSync(join(work, "node_modules/@uncaged"), { recursive: true });
  for (const name of published) stage(work, name);
}

/** Adds a manifest, links to dependencies, and a link for importing packages to emitted declarations. */
function stage(work: string, name: Published): void {
  const [source, staged] = [join(top, "packages", name), join(work, "packages", name)];
  const manifest = manifestOf(name);
  const exports = Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [as, { types: `./src/${file}.d.ts` }]),
  );
  writeFileSync(join(staged, "package.json"), JSON.stringify({ ...manifest, exports }));
  symlinkSync(join("../../packages", name), join(work, "node_modules", manifest.name));
  for (const each of Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })) {
    const isThere = existsSync(join(source, "node_modules", each));
    if (each.startsWith("@uncaged/") || !isThere) continue;
    const link = join(staged, "node_modules", each);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(source, "node_modules", each), link);
  }
}

/** Adds `.js` to the imports of the declarations below a folder. Every module resolution accepts this form. */
export function nameJavaScript(folder: string): void {
  for (const path of new Bun.Glob("**/*.d.ts").scanSync({ cwd: folder, absolute: true })) {
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/(["'])(\.{1,2}\/[^"'\n]+)\.ts\1/g, "$1$2.js$1"));
  }
}
