import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildConsole } from "../apps/web/test/built.ts";
import { llms, llmsFull } from "../docs/.vitepress/llms.ts";
import * as site from "../docs/.vitepress/site.ts";
import { build, buildCommand, buildProcesses } from "./build.ts";
import { nameJavaScript } from "./declarations.ts";
import { consoleLicencesFile, licencesOf, licencesOfConsole, notices } from "./licences.ts";
import { inNode } from "./in-node.ts";
import { bundledExportsOf, entryPointsOf, exportsOf, type Published } from "./published.ts";
import { type Staged, writeLibrary } from "./library.ts";
import { makeStandalone } from "./standalone.ts";

/*
 * Builds the published packages: `.pack/<name>/` and its tarball. A published package differs from the workspace in
 * four ways: its TypeScript is built, its dependencies except Bun are bundled (one file loads faster than a hundred),
 * `workspace:` becomes a version, and the manifest is not private.
 *
 * The agents, steps, graphs and plans are built file by file and keep their dependencies, so that a bundle leaves out
 * unused files. The command line builds bundles from them. It carries only the needed files, in `library.tar`, because
 * the dependencies have ten times as many files.
 */
const top = fileURLToPath(new URL("..", import.meta.url));
const out = join(top, ".pack");
const licencesFile = "THIRD-PARTY-LICENSES.txt";

const repository = { type: "git", url: "git+https://github.com/uncaged/workflow.git" };

type Manifest = {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  [field: string]: unknown;
};

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** Runs a program and returns its output. Throws the output when it fails. */
function run(command: string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (exitCode === 0) return stdout.toString();
  throw new Error(`${command.join(" ")}\n${stdout.toString()}${stderr.toString()}`);
}

/** Runs the compiler on a package's entry points. */
function compile(name: Published, dist: string, emit: object): void {
  const folder = join(top, "packages", name);
  const settings = join(out, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    rootDir: join(folder, "src"),
    outDir: dist,
    typeRoots: [join(top, "node_modules")],
    ...emit,
  };
  const files = entryPointsOf(name).map(({ file }) => join(folder, "src", `${file}.ts`));
  const text = JSON.stringify({ extends: "../tsconfig.json", compilerOptions, files, include: [] });
  writeFileSync(settings, text);
  run([join(top, "node_modules/.bin/tsc"), "-p", settings], top);
  nameJavaScript(dist);
}

const declarations = { emitDeclarationOnly: true };
/** Node 20 and 22 can't read newer syntax, such as `using`. */
const everyFile = {
  target: "es2023",
  allowImportingTsExtensions: false,
  rewriteRelativeImportExtensions: true,
};

/** Creates the staging folder of a package, with the files that every package has. */
function stage(folder: string, fields: Record<string, unknown>): string {
  const staged = join(out, basename(folder));
  rmSync(staged, { recursive: true, force: true });
  mkdirSync(join(staged, "dist"), { recursive: true });
  const { private: _, devDependencies: __, exports: ___, ...manifest } = readManifest(folder);
  const directory = `packages/${basename(folder)}`;
  const origin = { repository: { ...repository, directory } };
  const whole = { ...manifest, ...origin, ...fields, engines: { node: ">=20" } };
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(whole, null, 2)}\n`);
  cpSync(join(top, "LICENSE"), join(staged, "LICENSE"));
  for (const name of ["README.md", "CHANGELOG.md"]) {
    if (existsSync(join(folder, name))) cpSync(join(folder, name), join(staged, name));
  }
  return staged;
}

const core = join(top, "packages/workflow");
const cli = join(top, "packages/cli-workflow");
const agents = join(top, "packages/workflow-agents");
const steps = join(top, "packages/workflow-steps");
const graph = join(top, "packages/workflow-graph");
const plan = join(top, "packages/workflow-plan");
const web = join(top, "apps/web");
const bun = readManifest(core).dependencies.bun;

async function packCore(): Promise<string> {
  const onlyBun = (as: string) => as === "./host" || as === "./internal";
  const exports = Object.entries(bundledExportsOf("workflow")).map(
    ([as, { types, default: file }]) =>
      onlyBun(as)
        ? [as, { types, bun: file, default: file.replace(/\.js$/, "-in-node.js") }]
        : [as, { types, default: file }],
  );
  const staged = stage(core, {
    exports: {
      ...Object.fromEntries(exports),
      "./fixture.schema.json": "./schema/fixture.schema.json",
      "./project.schema.json": "./schema/project.schema.json",
    },
    files: ["dist", "schema"],
    dependencies: { bun },
  });
  const dist = join(staged, "dist");
  const sourcesOf = (isBuilt: (as: string) => boolean) =>
    entryPointsOf("workflow")
      .filter(({ as }) => isBuilt(as))
      .map(({ file }) => ({ source: join(core, "src", `${file}.ts`), as: basename(file) }));
  const anywhere = (as: string) => as === "./client";
  const inputs = [
    ...(await build(
      sourcesOf((as) => !onlyBun(as) && !anywhere(as)),
      dist,
      { readable: true },
    )),
    ...(await build(sourcesOf(anywhere), dist, { readable: true, target: "browser" })),
    ...(await build(sourcesOf(onlyBun), dist, { readable: false })),
    ...(await buildProcesses(dist)),
  ];
  writeFileSync(join(dist, licencesFile), notices(licencesOf(inputs)));
  for (const { as, file } of entryPointsOf("workflow").filter((one) => onlyBun(one.as))) {
    const entry = readFileSync(join(core, "src", `${file}.ts`), "utf8");
    const stub = inNode(`@uncaged/workflow${as.slice(1)}`, entry);
    writeFileSync(join(dist, `${basename(file)}-in-node.js`), stub);
  }
  compile("workflow", dist, declarations);
  cpSync(join(core, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

/** @param library The staged packages from which bundles are built. */
async function packCli(library: readonly Staged[]): Promise<string> {
  const manual = "man/uncaged-workflow.1";
  // The command line contains the channels of plans.
  const { peerDependencies, peerDependenciesMeta } = readManifest(plan);
  const fields = {
    ...{ files: ["bin", "dist", "man"], man: [`./${manual}`] },
    ...{ dependencies: { bun }, peerDependencies, peerDependenciesMeta },
  };
  const staged = stage(cli, fields);
  const dist = join(staged, "dist");
  const inputs = [...(await buildCommand(dist)), ...(await writeLibrary(dist, library))];
  cpSync(join(cli, "bin"), join(staged, "bin"), { recursive: true });
  mkdirSync(join(staged, "man"));
  const page = run([process.execPath, join(cli, "src/main.ts"), "__man"], top);
  writeFileSync(join(staged, manual), page);
  await buildConsole();
  cpSync(join(web, "dist"), join(dist, "console"), { recursive: true });
  rmSync(join(dist, "console", consoleLicencesFile));
  copyDocs(join(dist, "docs"));
  const licences = [...licencesOf(inputs), ...licencesOfConsole(join(web, "dist"))];
  writeFileSync(join(dist, licencesFile), notices(licences));
  return staged;
}

/** Copies the pages that `mcp` searches, and the files of all pages for language models. */
function copyDocs(folder: string): void {
  const pages = "{tutorial,guides,reference,explanation,coming-from}/*.md";
  for (const page of new Bun.Glob(pages).scanSync(join(top, "docs"))) {
    cpSync(join(top, "docs", page), join(folder, page));
  }
  writeFileSync(join(folder, "llms.txt"), llms(site, top));
  writeFileSync(join(folder, "llms-full.txt"), llmsFull(site, top));
}

/** Packs a package that is built file by file, with its JSON Schema. */
function packFiles(name: Published, dependsOn: string[], schema?: string): string {
  const folder = join(top, "packages", name);
  const { dependencies } = readManifest(folder);
  const staged = stage(folder, {
    exports: { ...exportsOf(name), ...(schema && { "./schema.json": `./schema/${schema}` }) },
    files: ["dist", ...(schema ? ["schema"] : [])],
    dependencies: { ...dependencies, ...versionsOf(...dependsOn) },
  });
  compile(name, join(staged, "dist"), everyFile);
  if (schema) cpSync(join(folder, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

/** Packs the package with the command's name, so that npx finds the command. It depends on the command line. */
function packAlias(): string {
  const name = "uncaged-workflow";
  const [source, staged] = [join(top, "scripts/alias"), join(out, name)];
  rmSync(staged, { recursive: true, force: true });
  cpSync(source, staged, { recursive: true });
  cpSync(join(top, "LICENSE"), join(staged, "LICENSE"));
  const { version, license } = readManifest(cli);
  const manifest = {
    ...{ name, version, license, type: "module", repository },
    ...{ description: "The command uncaged-workflow under its own package name." },
    ...{ bin: { [name]: `./bin/${name}` }, files: ["bin"], dependencies: versionsOf(cli) },
    engines: { node: ">=20" },
  };
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return staged;
}

/** Returns the names and versions of packages in this repository. */
const versionsOf = (...folders: string[]): Record<string, string> =>
  Object.fromEntries(
    folders.map(readManifest).map(({ name, version }) => [name, version] as const),
  );

/** Packs a staged package and returns the path of its tarball. */
function tarball(staged: string, folder = out): string {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [{ filename }] = JSON.parse(run(["npm", ...args], staged)) as [{ filename: string }];
  return join(folder, filename);
}

/** Paths of the tarballs. */
export type Packed = Record<
  "core" | "cli" | "agents" | "steps" | "graph" | "plan" | "evals" | "alias",
  string
>;

/**
 * Returns the command that installs tarballs in a folder. The tarballs depend on each other and are not in a registry.
 */
export function installCommand(tarballs: readonly string[], folder: string): string {
  const words = tarballs.map((path) => shellWord(`./${relative(folder, path)}`));
  return ["npm install", ...words].join(" ");
}

/** Quotes a text as one word for a shell. */
const shellWord = (text: string): string =>
  /^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

let packed: Promise<Packed> | null = null;

/** Packs the packages, once per process. */
export const pack = (): Promise<Packed> => (packed ??= packAll());

async function packAll(): Promise<Packed> {
  const aliasOut = join(out, "alias");
  mkdirSync(aliasOut, { recursive: true });
  const staged = {
    core: await packCore(),
    agents: packFiles("workflow-agents", [core]),
    steps: packFiles("workflow-steps", [core, agents], "workflow.schema.json"),
    graph: packFiles("workflow-graph", [core, agents], "graph.schema.json"),
    plan: packFiles("workflow-plan", [core, agents]),
    evals: packFiles("evals", [core, agents]),
  };
  const library = [core, agents, steps, graph, plan].map((source) => ({
    staged: join(out, basename(source)),
    source,
  }));
  return {
    core: tarball(staged.core),
    cli: tarball(await packCli(library)),
    agents: tarball(staged.agents),
    steps: tarball(staged.steps),
    graph: tarball(staged.graph),
    plan: tarball(staged.plan),
    evals: tarball(staged.evals),
    // In a separate folder, because npm gives this tarball the same file name as the core's tarball.
    alias: tarball(packAlias(), aliasOut),
  };
}

/**
 * Writes an archive of the packages that a project of the standalone binary installs: tarballs with peer dependencies
 * on each other, so that any package manager uses the project's own packages.
 */
async function archiveOf(path: string, staged: readonly string[]): Promise<void> {
  const archive: Record<string, Uint8Array> = {};
  for (const folder of staged) {
    const { dependencies, ...manifest } = readManifest(folder);
    const [ours, others] = [true, false].map((isOurs) =>
      Object.fromEntries(
        Object.entries(dependencies).filter(([name]) => name.startsWith("@uncaged/") === isOurs),
      ),
    );
    const peerDependencies = { ...(manifest.peerDependencies as object), ...ours };
    const text = JSON.stringify({ ...manifest, dependencies: others, peerDependencies });
    const files: Record<string, Uint8Array | string> = {};
    for (const file of new Bun.Glob("**/*").scanSync({ cwd: folder })) {
      files[join("package", file)] = new Uint8Array(readFileSync(join(folder, file)));
    }
    files["package/package.json"] = text;
    const packedFiles = new Bun.Archive(files, { compress: "gzip" });
    archive[`${manifest.name}.tgz`] = await packedFiles.bytes();
  }
  await Bun.Archive.write(path, archive);
}

/**
 * Builds the standalone binary from the packages staged by {@link pack}, for this machine or another platform. Returns
 * its path and writes a list of its contents beside it.
 */
export async function packStandalone(target?: Bun.Build.CompileTarget): Promise<string> {
  const folder = join(out, target?.replace(/^bun-/, "standalone-") ?? "standalone");
  const archive = join(out, "packages.tar");
  const installed = [core, agents, steps, graph, join(top, "packages/evals")];
  await archiveOf(
    archive,
    installed.map((source) => join(out, basename(source))),
  );
  const command = join(out, basename(cli), "dist");
  const folders = ["console", "docs"].map((name) => join(command, name));
  await makeStandalone(folder, { folders, library: join(command, "library.tar"), archive }, target);
  cpSync(join(command, licencesFile), join(folder, licencesFile));
  cpSync(join(top, "LICENSE"), join(folder, "LICENSE"));
  return join(folder, "uncaged-workflow");
}

/** The platforms of the released binaries. */
const platforms = ["bun-linux-x64", "bun-linux-arm64", "bun-darwin-x64", "bun-darwin-arm64"];

if (import.meta.main) {
  const { values } = parseArgs({
    options: { target: { type: "string", multiple: true }, all: { type: "boolean" } },
  });
  const chosen = values.all ? platforms : (values.target ?? [undefined]);
  const targets = chosen as (Bun.Build.CompileTarget | undefined)[];
  const tarballs = Object.values(await pack());
  const made = [...tarballs];
  for (const target of targets) made.push(await packStandalone(target));
  const shown = (path: string) => relative(process.cwd(), path);
  for (const path of made) console.log(shown(path));
  console.error(`install them together: ${installCommand(tarballs, process.cwd())}`);
}
