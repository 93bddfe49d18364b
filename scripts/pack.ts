import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, buildCommand, buildProcesses } from "./build.ts";
import { consoleLicencesFile, licencesOf, licencesOfConsole, notices } from "./licences.ts";
import { makeStandalone } from "./standalone.ts";

/*
 * Makes the packages as they are published: `.pack/<name>/` and a tarball of it. What is published
 * differs from the workspace in four ways: TypeScript is built, dependencies but Bun are bundled in
 * (one file is read faster than a hundred), `workspace:` is a version, and nothing is private.
 *
 * The agents, the steps, the graphs and the plans are built otherwise: file by file, and their dependencies stay dependencies.
 * Who imports them builds a bundle, and only so is what the bundle does not use left out of it. The
 * command line depends on steps, graphs and plans for this reason: it builds bundles of them.
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
  cpSync(join(folder, "README.md"), join(staged, "README.md"));
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

/** The sources of a package's entry points, by the names under which it exports them: `entry/index` for `.`. */
const sourcesOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(readManifest(folder).exports as Record<string, string>).flatMap(
      ([name, path]) => {
        const [, source] = /^\.\/src\/(.+)\.ts$/.exec(path) ?? [];
        return source === undefined ? [] : [[name, source]];
      },
    ),
  );

/** The exports of a package that is compiled file by file, for some of its entry points. */
const compiledExports = (folder: string, names: readonly string[]) => {
  const sources = sourcesOf(folder);
  const exports = names.map((name) => {
    const source = sources[name];
    return [name, { types: `./dist/${source}.d.ts`, default: `./dist/${source}.js` }] as const;
  });
  const files = names.flatMap((name) => sources[name] ?? []);
  return { exports: Object.fromEntries(exports), files };
};

/** An entry point of the core, which is bundled; its declarations are not. */
const entryPoint = (name: string) => ({
  types: `./dist/entry/${name}.d.ts`,
  default: `./dist/${name}.js`,
});

/** What Node gets of the entry point that only Bun can run: one line, and no stack of its loader. */
const hostInNode = `const error = new Error(
  "@uncaged/workflow/host needs Bun: run this program with it (https://bun.com); what workflows import runs in Node too",
);
error.stack = \`Error: \${error.message}\`;
throw error;
`;

async function packCore(): Promise<string> {
  const staged = stage(core, {
    exports: {
      ".": entryPoint("index"),
      "./document": entryPoint("document"),
      "./host": {
        types: "./dist/entry/host.d.ts",
        bun: "./dist/host.js",
        default: "./dist/host-in-node.js",
      },
      "./sandbox": entryPoint("sandbox"),
      "./testing": entryPoint("testing"),
      "./fixture.schema.json": "./schema/fixture.schema.json",
      "./project.schema.json": "./schema/project.schema.json",
    },
    files: ["dist", "schema"],
    dependencies: { bun },
  });
  const dist = join(staged, "dist");
  const source = (name: string) => ({ source: join(core, "src/entry", `${name}.ts`), as: name });
  const inputs = [
    ...(await build(["index", "testing", "document", "sandbox"].map(source), dist, {
      readable: true,
    })),
    ...(await build([source("host")], dist, { readable: false })),
    ...(await buildProcesses(dist)),
  ];
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), notices(licencesOf(inputs)));
  writeFileSync(join(dist, "host-in-node.js"), hostInNode);
  const entries = ["index", "document", "host", "sandbox", "testing"];
  compile(
    core,
    dist,
    entries.map((name) => `entry/${name}`),
    declarations,
  );
  cpSync(join(core, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

async function packCli(): Promise<string> {
  const dependencies = { bun, ...versionsOf(core, steps, graph, plan) };
  const manual = "man/uncaged-workflow.1";
  // It is the command line that has the plans' channels in it.
  const { peerDependencies, peerDependenciesMeta } = readManifest(plan);
  const fields = {
    ...{ files: ["bin", "dist", "man"], man: [`./${manual}`] },
    ...{ dependencies, peerDependencies, peerDependenciesMeta },
  };
  const staged = stage(cli, fields);
  const dist = join(staged, "dist");
  const inputs = await buildCommand(dist);
  cpSync(join(cli, "bin"), join(staged, "bin"), { recursive: true });
  mkdirSync(join(staged, "man"));
  const page = run([process.execPath, join(cli, "src/main.ts"), "__man"], top);
  writeFileSync(join(staged, manual), page);
  // The built console may be older than its sources.
  run([process.execPath, "--bun", "run", "build"], web);
  cpSync(join(web, "dist"), join(dist, "console"), { recursive: true });
  rmSync(join(dist, "console", consoleLicencesFile));
  const licences = [...licencesOf(inputs), ...licencesOfConsole(join(web, "dist"))];
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), notices(licences));
  return staged;
}

function packAgents(): string {
  const { dependencies } = readManifest(agents);
  const { exports, files } = compiledExports(agents, [".", "./ledger", "./evals"]);
  const staged = stage(agents, {
    exports,
    files: ["dist"],
    dependencies: { ...dependencies, ...versionsOf(core) },
  });
  compile(agents, join(staged, "dist"), files, everyFile);
  return staged;
}

function packSteps(): string {
  const { dependencies } = readManifest(steps);
  const { exports, files } = compiledExports(steps, [".", "./adapters", "./source"]);
  const schema = "schema/workflow.schema.json";
  const staged = stage(steps, {
    exports: { ...exports, "./schema.json": `./${schema}` },
    files: ["dist", "schema"],
    dependencies: { ...dependencies, ...versionsOf(core, agents) },
  });
  compile(steps, join(staged, "dist"), files, everyFile);
  cpSync(join(steps, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

function packGraph(): string {
  const { dependencies } = readManifest(graph);
  const { exports, files } = compiledExports(graph, [
    ".",
    "./agents",
    "./document",
    "./run",
    "./source",
  ]);
  const schema = "schema/graph.schema.json";
  const staged = stage(graph, {
    exports: { ...exports, "./schema.json": `./${schema}` },
    files: ["dist", "schema"],
    dependencies: { ...dependencies, ...versionsOf(core, agents) },
  });
  compile(graph, join(staged, "dist"), files, everyFile);
  cpSync(join(graph, "schema"), join(staged, "schema"), { recursive: true });
  return staged;
}

function packPlan(): string {
  const { dependencies } = readManifest(plan);
  const { exports, files } = compiledExports(plan, [".", "./source"]);
  const staged = stage(plan, {
    exports,
    files: ["dist"],
    dependencies: { ...dependencies, ...versionsOf(core, agents) },
  });
  compile(plan, join(staged, "dist"), files, everyFile);
  return staged;
}

/** The package whose name is the command's, so that npx finds it. It brings the command line along. */
function packAlias(): string {
  const name = "uncaged-workflow";
  const [source, staged] = [join(top, "scripts/alias"), join(out, name)];
  rmSync(staged, { recursive: true, force: true });
  cpSync(source, staged, { recursive: true });
  cpSync(join(top, "LICENSE"), join(staged, "LICENSE"));
  const { version, license } = readManifest(cli);
  const manifest = {
    ...{ name, version, license, description: "The command uncaged-workflow, by its own name." },
    ...{ bin: { [name]: `./bin/${name}` }, files: ["bin"], dependencies: versionsOf(cli) },
    engines: { node: ">=20" },
  };
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return staged;
}

/** The names of our packages with their versions. */
const versionsOf = (...folders: string[]): Record<string, string> =>
  Object.fromEntries(
    folders.map(readManifest).map(({ name, version }) => [name, version] as const),
  );

/** The tarball of a staged package, in a folder. */
function tarball(staged: string, folder = out): string {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [{ filename }] = JSON.parse(run(["npm", ...args], staged)) as [{ filename: string }];
  return join(folder, filename);
}

/** The paths of the tarballs. */
export type Packed = Record<
  "core" | "cli" | "agents" | "steps" | "graph" | "plan" | "alias",
  string
>;

let packed: Promise<Packed> | null = null;

/** Packs the packages, once for each process. */
export const pack = (): Promise<Packed> => (packed ??= packAll());

async function packAll(): Promise<Packed> {
  const aliasOut = join(out, "alias");
  mkdirSync(aliasOut, { recursive: true });
  return {
    core: tarball(await packCore()),
    cli: tarball(await packCli()),
    agents: tarball(packAgents()),
    steps: tarball(packSteps()),
    graph: tarball(packGraph()),
    plan: tarball(packPlan()),
    // In a folder of its own: npm gives it the file name of the core's.
    alias: tarball(packAlias(), aliasOut),
  };
}

/**
 * Makes the standalone binary from the packages that {@link pack} has staged, for this machine or another platform.
 * Gives its path; what it brings along is named beside it.
 */
export async function packStandalone(target?: Bun.Build.CompileTarget): Promise<string> {
  const folder = join(out, target?.replace(/^bun-/, "standalone-") ?? "standalone");
  const staged = (source: string) => ({ staged: join(out, basename(source)), source });
  const parts = {
    packages: [core, agents, steps, graph, plan].map(staged),
    lent: ["zod"],
    console: join(out, basename(cli), "dist/console"),
  };
  const inputs = await makeStandalone(folder, parts, target);
  const licences = [...licencesOf(inputs), ...licencesOfConsole(join(web, "dist"))];
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), notices(licences));
  cpSync(join(top, "LICENSE"), join(folder, "LICENSE"));
  return join(folder, "uncaged-workflow");
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { target: { type: "string", multiple: true } } });
  const targets = (values.target ?? [undefined]) as (Bun.Build.CompileTarget | undefined)[];
  const made = Object.values(await pack());
  for (const target of targets) made.push(await packStandalone(target));
  for (const path of made) console.log(relative(process.cwd(), path));
}
