import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";

/*
 * The library of the command: the files of the published packages, and of their dependencies, from which bundles are
 * built. The command carries them in an archive, so that it depends on none of these packages.
 */
type Manifest = {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  exports: Record<string, unknown>;
};

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** Entry points that no bundle imports. */
const forPrograms = ["./host", "./internal", "./source", "./document"];

/** A built package and the folder of its sources. */
export type Staged = { staged: string; source: string };

/** Third-party packages that a source can import. */
const lent = ["zod"];

/**
 * Writes the archive `library.tar` of these packages into a folder. Returns the paths of the third-party files in it.
 */
export async function writeLibrary(folder: string, packages: readonly Staged[]): Promise<string[]> {
  const work = join(folder, "library");
  const { files, inputs } = await collectLibrary(work, packages);
  await Bun.Archive.write(join(folder, "library.tar"), files);
  rmSync(work, { recursive: true });
  return inputs.filter((path) => !path.includes("/node_modules/@uncaged/"));
}

/**
 * Collects the files for building bundles: from each package the files that its entry points reach, in the layout of
 * npm. They form a project that depends on the packages that a source may import.
 */
async function collectLibrary(
  folder: string,
  packages: readonly Staged[],
): Promise<{ files: Record<string, Uint8Array>; inputs: string[] }> {
  const modules = join(folder, "node_modules");
  const dependencies: Record<string, string> = {};
  const imports: string[] = [...lent];
  // A bundle must contain its author's copies of these packages.
  const peers: string[] = [];
  for (const { staged, source } of packages) {
    const { name, version, exports, peerDependencies = {} } = readManifest(staged);
    peers.push(...Object.keys(peerDependencies));
    cpSync(staged, join(modules, name), { recursive: true });
    linkDependencies(source, modules);
    dependencies[name] = version;
    const entryPoints = Object.keys(exports).filter(
      (path) => !forPrograms.includes(path) && !path.endsWith(".json"),
    );
    imports.push(...entryPoints.map((path) => join(name, path)));
  }
  for (const name of lent) dependencies[name] = readManifest(join(modules, name)).version;
  const entry = join(folder, "entry.js");
  writeFileSync(entry, imports.map((path, at) => `export * as e${at} from "${path}";\n`).join(""));
  const { success, logs, metafile } = await Bun.build({
    entrypoints: [entry],
    target: "node",
    external: peers,
    metafile: true,
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  const built = Object.keys(metafile?.inputs ?? {}).map((path) => resolve(path));
  const inputs = importedBy(built, peers).filter((path) => path !== entry);
  const files: Record<string, Uint8Array> = {};
  const own: Record<string, string> = {};
  for (const path of inputs) {
    const [root, name] = packageOf(path);
    if ((own[name] ??= root) !== root) throw new Error(`found two versions of ${name}`);
    for (const each of [path, join(root, "package.json")]) {
      files[join("node_modules", name, relative(root, each))] = new Uint8Array(readFileSync(each));
    }
  }
  files["package.json"] = new TextEncoder().encode(JSON.stringify({ private: true, dependencies }));
  return { files, inputs };
}

/**
 * Returns files with all their imports except peers, at any depth. Uses the resolved imports, because the bundler lists
 * only the files in its output.
 */
function importedBy(files: readonly string[], peers: readonly string[]): string[] {
  const found = new Set(files);
  const transpiler = new Bun.Transpiler();
  for (const file of found) {
    if (file.endsWith(".json")) continue;
    for (const { path } of transpiler.scanImports(readFileSync(file))) {
      const other = peers.includes(path) ? null : fileOf(path, dirname(file));
      if (other !== null) found.add(other);
    }
  }
  return [...found];
}

// Modules of Node and missing optional packages have no file.
function fileOf(specifier: string, folder: string): string | null {
  try {
    const path = Bun.resolveSync(specifier, folder);
    return isAbsolute(path) ? path : null;
  } catch {
    return null;
  }
}

/** Links a package's third-party dependencies into a `node_modules` folder. */
function linkDependencies(source: string, modules: string): void {
  for (const name of Object.keys(readManifest(source).dependencies ?? {})) {
    const from = join(source, "node_modules", name);
    const to = join(modules, name);
    if (name.startsWith("@uncaged/") || name === "bun") continue;
    mkdirSync(dirname(to), { recursive: true });
    rmSync(to, { force: true });
    symlinkSync(from, to);
  }
}

/** Returns the folder and the name of the package that contains a file. */
function packageOf(path: string): [root: string, name: string] {
  const at = path.lastIndexOf("/node_modules/") + "/node_modules/".length;
  const [scope = "", name = ""] = path.slice(at).split("/");
  const whole = scope.startsWith("@") ? `${scope}/${name}` : scope;
  return [path.slice(0, at) + whole, whole];
}
