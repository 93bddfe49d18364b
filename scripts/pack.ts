import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * Makes the packages as they are published: `.pack/<name>/` and a tarball of it. What is published
 * differs from the workspace in four ways: TypeScript is built, dependencies but Bun are bundled in
 * (one file is read faster than a hundred), `workspace:` is a version, and nothing is private.
 *
 * The agents and the steps are built otherwise: file by file, and their dependencies stay dependencies.
 * Who imports them builds a bundle, and only so is what the bundle does not use left out of it. The
 * command line depends on the steps for this reason: it builds bundles of step workflows.
 */
const top = fileURLToPath(new URL("..", import.meta.url));
const out = join(top, ".pack");

type Manifest = {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  [field: string]: unknown;
};

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** What a process begins with; each is found beside the file that starts it, by these names. */
const processes = {
  worker: "worker/main.ts",
  "inspect-child": "bundle/inspect-child.ts",
  "build-child": "bundle/build-child.ts",
};

type Entry = { source: string; as: string };

/**
 * Keeps the command line out of the file that the command begins with, which shares no chunk with it:
 * that file is then read at once, and starts a worker before anything else is read.
 */
const apart: Bun.BunPlugin = {
  name: "apart",
  setup: (builder) => {
    builder.onResolve({ filter: /^\.\/program\/program\.ts$/ }, () => ({
      path: "./program.js",
      external: true,
    }));
  },
};

/** Builds entries into a flat folder; their lazy imports stay files of their own. */
async function build(
  entries: Entry[],
  dist: string,
  options: { readable: boolean },
): Promise<string[]> {
  const [only] = entries;
  const single = entries.length === 1 && only;
  const { success, logs, metafile } = await Bun.build({
    entrypoints: entries.map(({ source }) => source),
    outdir: dist,
    naming: { entry: single ? `${single.as}.[ext]` : "[name].[ext]", chunk: "chunk-[hash].[ext]" },
    target: options.readable ? "node" : "bun",
    format: "esm",
    splitting: true,
    minify: options.readable ? false : { whitespace: true, syntax: true },
    external: ["bun"],
    plugins: [apart],
    metafile: true,
    throw: false,
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  return Object.keys(metafile?.inputs ?? {});
}

/** The folders of the third-party packages among a build's inputs. */
function thirdParties(inputs: string[]): string[] {
  const folders = inputs.flatMap((input) => {
    const path = join(top, input);
    const at = path.lastIndexOf("/node_modules/");
    if (at < 0) return [];
    const [scope = "", name = ""] = path.slice(at + "/node_modules/".length).split("/");
    return [
      join(path.slice(0, at), "node_modules", scope.startsWith("@") ? `${scope}/${name}` : scope),
    ];
  });
  return [...new Set(folders)].sort((a, b) => basename(a).localeCompare(basename(b)));
}

/** A package's licence: a file of its own, or a section of its README. */
function licence(folder: string): string {
  const names = readdirSync(folder);
  const own = names.find((name) => /^(licen[cs]e|copying)/i.test(name));
  if (own) return readFileSync(join(folder, own), "utf8").trim();
  const readme = names.find((name) => /^readme/i.test(name));
  const text = readme ? readFileSync(join(folder, readme), "utf8") : "";
  const [section] = /^#+ *licen[cs]e[\s\S]*/im.exec(text) ?? [];
  if (!section) throw new Error(`${folder} names no licence`);
  return section.trim();
}

/** The licences of what is bundled in, which must go along with it. */
function notices(folders: string[]): string {
  return folders
    .map((folder) => {
      const { name, version } = readManifest(folder);
      return `${name} ${version}\n\n${licence(folder)}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Runs a program and returns what it printed; throws its output when it failed. */
function run(command: string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode === 0) return stdout.toString();
  throw new Error(`${command.join(" ")}\n${stdout.toString()}${stderr.toString()}`);
}

/**
 * Runs the compiler on a package's entry points. The declarations' imports name `.js`, which every module
 * resolution takes.
 */
function compile(folder: string, dist: string, entryPoints: string[], emit: object): void {
  const settings = join(out, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    rootDir: join(folder, "src"),
    outDir: dist,
    typeRoots: [join(top, "node_modules")],
    ...emit,
  };
  const files = entryPoints.map((name) => join(folder, "src", `${name}.ts`));
  const text = JSON.stringify({ extends: "../tsconfig.json", compilerOptions, files, include: [] });
  writeFileSync(settings, text);
  run([join(top, "node_modules/.bin/tsc"), "-p", settings], top);
  for (const path of new Bun.Glob("**/*.d.ts").scanSync({ cwd: dist, absolute: true })) {
    const declarations = readFileSync(path, "utf8");
    writeFileSync(path, declarations.replace(/(["'])(\.{1,2}\/[^"'\n]+)\.ts\1/g, "$1$2.js$1"));
  }
}

const declarations = { emitDeclarationOnly: true };
const everyFile = { allowImportingTsExtensions: false, rewriteRelativeImportExtensions: true };

/** Begins the staging folder of a package: what every package has. */
function stage(folder: string, fields: Record<string, unknown>): string {
  const staged = join(out, basename(folder));
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(join(staged, "dist"), { recursive: true });
  const { private: _, devDependencies: __, exports: ___, ...manifest } = readManifest(folder);
  const whole = { ...manifest, ...fields, engines: { node: ">=20" } };
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(whole, null, 2)}\n`);
  cpSync(join(top, "LICENSE"), join(staged, "LICENSE"));
  const readme = [join(folder, "README.md"), join(top, "README.md")].find(existsSync);
  if (readme) cpSync(readme, join(staged, "README.md"));
  return staged;
}

const core = join(top, "packages/workflow");
const cli = join(top, "packages/cli-workflow");
const agents = join(top, "packages/workflow-agents");
const steps = join(top, "packages/workflow-steps");
const web = join(top, "apps/web");
const bun = readManifest(core).dependencies.bun;

/** Builds the programs of the core's processes into a folder. */
async function buildProcesses(dist: string): Promise<string[]> {
  const inputs: string[] = [];
  for (const [as, source] of Object.entries(processes)) {
    inputs.push(
      ...(await build([{ source: join(core, "src", source), as }], dist, { readable: false })),
    );
  }
  return inputs;
}

const entryPoint = (name: string) => ({
  types: `./dist/${name}.d.ts`,
  default: `./dist/${name}.js`,
});

async function packCore(): Promise<string> {
  const staged = stage(core, {
    exports: {
      ".": entryPoint("index"),
      "./host": entryPoint("host"),
      "./testing": entryPoint("testing"),
    },
    files: ["dist"],
    dependencies: { bun },
  });
  const dist = join(staged, "dist");
  const source = (name: string) => ({ source: join(core, "src", `${name}.ts`), as: name });
  const inputs = [
    ...(await build([source("index"), source("testing")], dist, { readable: true })),
    ...(await build([source("host")], dist, { readable: false })),
    ...(await buildProcesses(dist)),
  ];
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), notices(thirdParties(inputs)));
  compile(core, dist, ["index", "host", "testing"], declarations);
  return staged;
}

async function packCli(): Promise<string> {
  const dependencies = { bun, ...versionsOf(core, steps) };
  const staged = stage(cli, { files: ["bin", "dist"], dependencies });
  const dist = join(staged, "dist");
  const inputs = [
    ...(await buildOne("src/main.ts", "main", dist)),
    ...(await buildOne("src/program/program.ts", "program", dist)),
    ...(await buildProcesses(dist)),
  ];
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), notices(thirdParties(inputs)));
  cpSync(join(cli, "bin"), join(staged, "bin"), { recursive: true });
  // The built console may be older than its sources.
  run([process.execPath, "--bun", "run", "build"], web);
  cpSync(join(web, "dist"), join(dist, "console"), { recursive: true });
  return staged;
}

function packAgents(): string {
  const { dependencies } = readManifest(agents);
  const staged = stage(agents, {
    exports: { ".": entryPoint("index"), "./ledger": entryPoint("ledger") },
    files: ["dist"],
    dependencies: { ...dependencies, ...versionsOf(core) },
  });
  compile(agents, join(staged, "dist"), ["index", "ledger"], everyFile);
  return staged;
}

function packSteps(): string {
  const { dependencies } = readManifest(steps);
  const schema = "schema/workflow.schema.json";
  const staged = stage(steps, {
    exports: {
      ".": entryPoint("index"),
      "./adapters": entryPoint("adapters"),
      "./source": entryPoint("source"),
      "./schema.json": `./${schema}`,
    },
    files: ["dist", "schema"],
    dependencies: { ...dependencies, ...versionsOf(core, agents) },
  });
  compile(steps, join(staged, "dist"), ["index", "adapters", "source"], everyFile);
  cpSync(join(steps, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

/** The names of our packages with their versions. */
const versionsOf = (...folders: string[]): Record<string, string> =>
  Object.fromEntries(
    folders.map(readManifest).map(({ name, version }) => [name, version] as const),
  );

const buildOne = (source: string, as: string, dist: string) =>
  build([{ source: join(cli, source), as }], dist, { readable: false });

/** The tarball of a staged package. */
function tarball(staged: string): string {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", out];
  const [{ filename }] = JSON.parse(run(["npm", ...args], staged)) as [{ filename: string }];
  return join(out, filename);
}

/** The paths of the tarballs. */
export type Packed = { core: string; cli: string; agents: string; steps: string };

/** Packs the packages. */
export async function pack(): Promise<Packed> {
  mkdirSync(out, { recursive: true });
  return {
    core: tarball(await packCore()),
    cli: tarball(await packCli()),
    agents: tarball(packAgents()),
    steps: tarball(packSteps()),
  };
}

if (import.meta.main) {
  for (const path of Object.values(await pack())) console.log(relative(process.cwd(), path));
}
