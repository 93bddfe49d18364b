import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * Makes the command line as one file that needs nothing else: Bun, our code with its bytecode, the console, and the
 * packages that bundles are built of. It is its own worker and builder: `standalone-main.ts`.
 */
const here = fileURLToPath(new URL(".", import.meta.url));

type Manifest = {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  exports: Record<string, unknown>;
};

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** Entry points of our packages that no bundle imports. */
const forPrograms = ["./host", "./source", "./document", "./evals"];

/** What a binary is made from: the packages as they are published, where their sources are, the built console. */
export type Parts = {
  packages: { staged: string; source: string }[];
  /** Third-party packages that a source may import as it may import ours. */
  lent: string[];
  console: string;
};

/**
 * Makes a binary in a folder, for this machine or another platform (`bun-linux-arm64`), and gives what else than our
 * sources went into it.
 */
export async function makeStandalone(
  folder: string,
  parts: Parts,
  target: Bun.Build.CompileTarget | undefined,
): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { files, inputs } = await collectLibrary(join(folder, "library"), parts);
  const archive = join(folder, "library.tar");
  await Bun.Archive.write(archive, files);
  const wholeModules = await buildWholes();
  const wasm = join(folder, "wasm.txt");
  const { success, logs, metafile } = await Bun.build({
    ...settings,
    entrypoints: [join(here, "standalone-main.ts")],
    splitting: true,
    bytecode: true,
    plugins: [wholeModules.plugin, wasmIn(wasm)],
    compile: {
      outfile: join(folder, "uncaged-workflow"),
      assets: [parts.console, archive],
      // Nothing of the folder that it is called in reaches it.
      execArgv: ["--no-install"],
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadPackageJson: true,
      ...(target && { target }),
    },
    metafile: true,
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  rmSync(archive);
  rmSync(wasm);
  rmSync(join(folder, "library"), { recursive: true });
  const all = [...inputs, ...wholeModules.inputs, ...Object.keys(metafile?.inputs ?? {})];
  return all.filter((path) => !path.includes("/node_modules/@uncaged/"));
}

const settings = {
  target: "bun",
  format: "esm",
  minify: { whitespace: true, syntax: true },
  external: ["bun"],
} satisfies Partial<Bun.BuildConfig>;

/** The modules that the start of a thread loads, in the command and in its worker. */
const wholes = [
  "standalone-main.ts",
  "../packages/cli-workflow/src/program/prewarm.ts",
  "../packages/workflow/src/worker/main.ts",
].map((entry) => resolve(here, entry));

/**
 * Builds each of the {@link wholes} as one module with all that it imports, and gives the plugin that puts them in their
 * places: in the parts that they would share with others it takes a process longer to begin, for each is resolved and
 * linked. What they load later stays in those parts.
 */
async function buildWholes(): Promise<{ plugin: Bun.BunPlugin; inputs: string[] }> {
  const built = new Map<string, string>();
  const inputs: string[] = [];
  for (const entry of wholes) {
    const { outputs, success, logs, metafile } = await Bun.build({
      ...settings,
      entrypoints: [entry],
      plugins: [loadedApart],
      metafile: true,
      throw: false,
    });
    const [output] = outputs;
    if (!success || !output) throw new Error(logs.map(String).join("\n"));
    built.set(entry, await output.text());
    inputs.push(...Object.keys(metafile?.inputs ?? {}));
  }
  const plugin: Bun.BunPlugin = {
    name: "wholes",
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = built.get(path);
        return contents === undefined ? undefined : { contents, loader: "js" };
      });
    },
  };
  return { plugin, inputs };
}

/**
 * Leaves the modules that are loaded lazily where they are. One that is imported as well would have the bundler wrap it,
 * and each that it imports, in a function.
 */
const loadedApart: Bun.BunPlugin = {
  name: "loaded-apart",
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, kind, resolveDir }) =>
      kind === "dynamic-import"
        ? { path: Bun.resolveSync(path, resolveDir), external: true }
        : undefined,
    );
  },
};

/**
 * Puts the WebAssembly of Restate's package, a text in its source, into a file of the binary: each process of the binary
 * reads the texts of its sources ahead when it begins, and this one is longer than all others together.
 */
function wasmIn(file: string): Bun.BunPlugin {
  return {
    name: "wasm",
    setup(build) {
      build.onLoad({ filter: /\/sdk_shared_core_wasm_bindings\.js$/ }, ({ path }) => {
        const source = readFileSync(path, "utf8");
        const [line, text = ""] = /^const __wasm_base64__ = "([\w+/=]+)";$/m.exec(source) ?? [];
        if (line === undefined) throw new Error(`${path} has its WebAssembly in another form`);
        writeFileSync(file, text);
        const read = `import wasmFile from ${JSON.stringify(file)} with { type: "file" };
import { readFileSync as readWasm } from "node:fs";
const __wasm_base64__ = readWasm(wasmFile, "latin1");`;
        return { contents: source.replace(line, read), loader: "js" };
      });
    },
  };
}

/**
 * The files that bundles can be built of: of each package what its entry points reach, in the layout of npm. They are
 * a project whose dependencies are what a source may import.
 */
async function collectLibrary(
  folder: string,
  { packages, lent }: Parts,
): Promise<{ files: Record<string, Uint8Array>; inputs: string[] }> {
  const modules = join(folder, "node_modules");
  const dependencies: Record<string, string> = {};
  const imports: string[] = [...lent];
  for (const { staged, source } of packages) {
    const { name, version, exports } = readManifest(staged);
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
    metafile: true,
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  const built = Object.keys(metafile?.inputs ?? {}).map((path) => resolve(path));
  const inputs = importedBy(built).filter((path) => path !== entry);
  const files: Record<string, Uint8Array> = {};
  const own: Record<string, string> = {};
  for (const path of inputs) {
    const [root, name] = packageOf(path);
    if ((own[name] ??= root) !== root) throw new Error(`two versions of ${name} can't be lent`);
    for (const each of [path, join(root, "package.json")]) {
      files[join("node_modules", name, relative(root, each))] = new Uint8Array(readFileSync(each));
    }
  }
  files["package.json"] = new TextEncoder().encode(JSON.stringify({ private: true, dependencies }));
  return { files, inputs };
}

/**
 * Files with all that they import, at any depth: the bundler names only what is left of that, but looks for all of it.
 */
function importedBy(files: readonly string[]): string[] {
  const found = new Set(files);
  const transpiler = new Bun.Transpiler();
  for (const file of found) {
    for (const { path } of transpiler.scanImports(readFileSync(file))) {
      const other = fileOf(path, dirname(file));
      if (other !== null) found.add(other);
    }
  }
  return [...found];
}

// What is a module of Node's, or an optional package that is not there, has none.
function fileOf(specifier: string, folder: string): string | null {
  try {
    const path = Bun.resolveSync(specifier, folder);
    return isAbsolute(path) ? path : null;
  } catch {
    return null;
  }
}

/** Puts a package's own dependencies, and no packages of ours, beside it. */
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

/** The folder and the name of the package that a file belongs to. */
function packageOf(path: string): [root: string, name: string] {
  const at = path.lastIndexOf("/node_modules/") + "/node_modules/".length;
  const [scope = "", name = ""] = path.slice(at).split("/");
  const whole = scope.startsWith("@") ? `${scope}/${name}` : scope;
  return [path.slice(0, at) + whole, whole];
}
