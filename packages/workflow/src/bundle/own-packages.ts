import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve as resolvePath } from "node:path";
import { entryFiles, libraryName } from "../document/entry-files.ts";

/**
 * Packages of the running program that a source may import without installing them: `@uncaged/workflow`, and in the
 * packed command all packages of its library. `names` also has the peer dependencies of these packages.
 */
export type OwnPackages = {
  names: readonly string[];
  /** Returns the file for an import of one of these packages; null for an unknown entry point. */
  fileOf(specifier: string): Promise<string | null>;
};

const coreName = "@uncaged/workflow";
const ofCore = `node_modules/${coreName}/**`;

/** Entry points of the core that a bundle may contain. */
const forBundles = [coreName, `${coreName}/interpreter`, `${coreName}/records`];

/** The author's packages that this project's packages patch. A bundle must contain only the author's copy. */
const peers = ["@openai/agents"];

/** Returns the packages of the running program. The packed command extracts its library into `folder`. */
export async function findOwnPackages(folder: string): Promise<OwnPackages> {
  const library = join(import.meta.dir, libraryName);
  if (!existsSync(library)) {
    return { names: [coreName, ...peers], fileOf: async (name) => coreFiles()[name] ?? null };
  }
  const archive = new Bun.Archive(readFileSync(library));
  const manifest = await (await archive.files("package.json")).get("package.json")?.text();
  const { dependencies } = JSON.parse(manifest ?? "{}") as { dependencies: object };
  const extract = once(() => archive.extract(folder, { glob: ofCore }));
  const extractRest = once(() => archive.extract(folder, { glob: ["**", `!${ofCore}`] }));
  return {
    names: [...Object.keys(dependencies), ...peers],
    async fileOf(specifier) {
      await extract();
      // Most sources import only the core, which has no dependencies.
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

/** Files of a build with their imports, by path, from Bun's metafile. */
type Inputs = Bun.BuildMetafile["inputs"];

/**
 * Returns the files for imports that a build left unresolved: the imports in `resolve`, and packages of this project
 * that an importing file can't resolve. All importing files then share one copy: the first that an importing file
 * resolves, with the author's files first, or else the running copy.
 */
export async function lentFiles(
  own: OwnPackages,
  resolve: Readonly<Record<string, string>>,
  inputs: Inputs,
  isOwnFile: (path: string) => boolean,
): Promise<Record<string, string>> {
  const importers = new Map<string, Set<string>>();
  const add = (specifier: string, file: string) => {
    const folders = importers.get(specifier) ?? new Set();
    importers.set(specifier, folders.add(dirname(resolvePath(file))));
  };
  for (const [file, { imports }] of Object.entries(inputs)) {
    for (const { path, external } of imports) if (external) add(path, file);
  }
  // The metafile lacks the imports of these files, because the build did not read them.
  for (const file of Object.values(resolve)) for (const name of forBundles) add(name, file);
  const files: Record<string, string> = { ...resolve };
  for (const [specifier, folders] of importers) {
    const isOwn = own.names.some((name) => specifier === name || specifier.startsWith(`${name}/`));
    if (!isOwn || files[specifier] !== undefined) continue;
    const ordered = [...folders].toSorted();
    const ofAuthor = ordered.filter((folder) => !isOwnFile(join(folder, "file")));
    const copies = [...ofAuthor, ...ordered].map((folder) => resolved(specifier, folder));
    if (!copies.includes(null) && !peers.includes(specifier)) continue;
    const file = copies.find((copy) => copy !== null) ?? (await own.fileOf(specifier));
    if (file !== null) files[specifier] = file;
  }
  return files;
}

/**
 * Writes a `tsconfig.json` that extends `base` and maps import paths to files; returns its path. A plugin of the
 * bundler is not used for this: it would lose the `sideEffects` of the packages, and the bytes of two builds would
 * differ.
 */
export function writeConfig(folder: string, base: string, files: Record<string, string>): string {
  const lent = Object.entries(files).map(([specifier, file]) => [specifier, [file]] as const);
  const paths = { ...pathsOf(base), ...Object.fromEntries(lent) };
  const config = join(folder, "lending.json");
  writeFileSync(config, JSON.stringify({ extends: base, compilerOptions: { paths } }));
  return config;
}

type Config = {
  extends?: string | string[];
  compilerOptions?: { baseUrl?: string; paths?: Record<string, string[]> };
};

/** Returns the `paths` of a `tsconfig.json` as absolute paths. A config that extends it must repeat them. */
function pathsOf(file: string): Record<string, string[]> {
  const { baseUrl, paths, folder } = settingsOf(file);
  const base = baseUrl ?? folder;
  return Object.fromEntries(
    Object.entries(paths).map(([name, targets]) => [
      name,
      targets.map((target) => resolvePath(base, target)),
    ]),
  );
}

type PathSettings = { baseUrl: string | null; paths: Record<string, string[]>; folder: string };

function settingsOf(file: string): PathSettings {
  const folder = dirname(file);
  let settings: PathSettings = { baseUrl: null, paths: {}, folder };
  try {
    const config = Bun.JSONC.parse(readFileSync(file, "utf8")) as Config;
    for (const parent of [config.extends ?? []].flat()) {
      settings = settingsOf(Bun.resolveSync(parent, folder));
    }
    const { baseUrl, paths } = config.compilerOptions ?? {};
    if (baseUrl !== undefined) settings.baseUrl = resolvePath(folder, baseUrl);
    if (paths !== undefined) settings = { ...settings, paths, folder };
  } catch {
    // Bun reports errors in `tsconfig.json`.
  }
  return settings;
}
