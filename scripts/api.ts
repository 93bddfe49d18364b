import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
} from "@microsoft/api-extractor";
import { type EntryPoint, entryPointsOf, type Published, published } from "./published.ts";
import { top } from "./test-files.ts";

/*
 * Reports the public API of each published package in `api/<package>.api.md`:
 *
 *     bun scripts/api.ts            # writes the reports
 *     bun scripts/api.ts --check    # fails when a report is stale
 *
 * The declarations are emitted into `.cache/api`, where each package finds the declarations of the others as an
 * installed one does.
 */
const work = join(top, ".cache/api");
const types = { types: ["bun-types"], typeRoots: [join(top, "node_modules")] };

/** Packages whose exports may lack a doc comment. Remove a name when its report has no `(undocumented)` export. */
const undocumented = new Set<Published>(["workflow-agents", "workflow-plan"]);

const stagedAt = (name: Published): string => join(work, "packages", name);
const reportsAt = (name: Published): string => join(work, "reports", name);

type Manifest = {
  name: string;
  dependencies: Record<string, string>;
  exports: Record<string, string>;
};

const manifestOf = (name: Published): Manifest =>
  JSON.parse(readFileSync(join(top, "packages", name, "package.json"), "utf8")) as Manifest;

/** Where the compiler finds our packages: it emits nothing of a package that it finds in `node_modules`. */
const paths = Object.fromEntries(
  published.flatMap((folder) => {
    const { name, exports } = manifestOf(folder);
    return Object.entries(exports).map(([as, path]) => [
      join(name, as),
      [join(top, "packages", folder, path)],
    ]);
  }),
);

function emitDeclarations(): void {
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
  const content = { extends: "../../tsconfig.json", compilerOptions, files, include: [] };
  writeFileSync(settings, JSON.stringify(content));
  const tsc = join(top, "node_modules/.bin/tsc");
  const { exitCode, stdout } = Bun.spawnSync([tsc, "-p", settings], { cwd: top });
  if (exitCode !== 0) throw new Error(stdout.toString());
}

/** Adds a manifest to emitted declarations, links to the dependencies, and a link for the packages that import them. */
function stage(name: Published): void {
  const [source, staged] = [join(top, "packages", name), stagedAt(name)];
  const manifest = manifestOf(name);
  const exports = Object.fromEntries(
    entryPointsOf(name).map(({ as, file }) => [as, { types: `./src/${file}.d.ts` }]),
  );
  writeFileSync(join(staged, "package.json"), JSON.stringify({ ...manifest, exports }));
  symlinkSync(staged, join(work, "node_modules", manifest.name));
  for (const each of Object.keys(manifest.dependencies)) {
    if (each.startsWith("@uncaged/")) continue;
    const link = join(staged, "node_modules", each);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(source, "node_modules", each), link);
  }
}

/** The name of an entry point's report. */
const reportName = ({ file }: EntryPoint): string => file.replaceAll("/", "-");

function configOf(name: Published, entryPoint: EntryPoint): ExtractorConfig {
  const compilerOptions = {
    ...{ target: "esnext", lib: ["esnext"], module: "preserve", moduleResolution: "bundler" },
    ...{ strict: true, skipLibCheck: true, allowImportingTsExtensions: true, noEmit: true },
    ...types,
  };
  const from = (logLevel: ExtractorLogLevel) => ({ default: { logLevel } });
  const configObject = {
    projectFolder: stagedAt(name),
    mainEntryPointFilePath: join(stagedAt(name), "src", `${entryPoint.file}.d.ts`),
    newlineKind: "lf" as const,
    compiler: { overrideTsconfig: { compilerOptions }, skipLibCheck: true },
    apiReport: {
      enabled: true,
      reportFileName: reportName(entryPoint),
      reportFolder: reportsAt(name),
      reportTempFolder: reportsAt(name),
    },
    messages: {
      compilerMessageReporting: from(ExtractorLogLevel.Error),
      extractorMessageReporting: from(ExtractorLogLevel.None),
      tsdocMessageReporting: from(ExtractorLogLevel.None),
    },
  };
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(stagedAt(name), "package.json"),
  });
}

/** Writes the reports of a package's entry points, which share one compilation. */
function extract(name: Published): void {
  mkdirSync(reportsAt(name), { recursive: true });
  const [first, ...others] = entryPointsOf(name).map((entryPoint) => configOf(name, entryPoint));
  if (!first) throw new Error(`${name}: no entry points`);
  const compilerState = CompilerState.create(first, {
    additionalEntryPoints: others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
  });
  const problems: string[] = [];
  for (const config of [first, ...others]) {
    Extractor.invoke(config, {
      compilerState,
      localBuild: true,
      messageCallback: (message) => {
        message.handled = true;
        if (message.logLevel !== ExtractorLogLevel.Error) return;
        problems.push(message.formatMessageWithLocation(work));
      },
    });
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** The report of a package, and its exports without a doc comment. */
function reportOf(name: Published): { report: string; bare: string[] } {
  const bare: string[] = [];
  const sections = entryPointsOf(name).map((entryPoint) => {
    const title = join(manifestOf(name).name, entryPoint.as);
    const path = join(reportsAt(name), `${reportName(entryPoint)}.api.md`);
    const [, code = ""] =
      /```ts\n([^]*)\n\/\/ \(No @package/.exec(readFileSync(path, "utf8")) ?? [];
    const found = code.matchAll(
      /^\/\/ @public \(undocumented\)\nexport (?:(?:declare|abstract) )*\w+ (\w+)/gm,
    );
    for (const [, symbol] of found) bare.push(`${title}: ${symbol} has no doc comment`);
    return `## ${title}\n\n\`\`\`ts\n${code.trim()}\n\`\`\`\n`;
  });
  const head = `# API of ${manifestOf(name).name}\n\nGenerated by \`npm run api\`.\n`;
  return { report: [head, ...sections].join("\n"), bare };
}

rmSync(work, { recursive: true, force: true });
mkdirSync(join(work, "node_modules/@uncaged"), { recursive: true });
emitDeclarations();
for (const name of published) stage(name);
for (const name of published) extract(name);

const isCheck = process.argv.includes("--check");
const problems: string[] = [];
for (const name of published) {
  const { report, bare } = reportOf(name);
  const path = `api/${name}.api.md`;
  const file = Bun.file(join(top, path));
  const isStale = !(await file.exists()) || (await file.text()) !== report;
  if (isStale && isCheck) problems.push(`${path}: stale; run \`npm run api\``);
  if (isStale && !isCheck) await file.write(report);
  if (!undocumented.has(name)) problems.push(...bare);
  const count = [...report.matchAll(/^export /gm)].length;
  console.log(`${path}: ${count} exports, ${bare.length} without a doc comment`);
}
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
