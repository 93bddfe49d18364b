// The process that `build.ts` starts to run Bun's bundler, isolated from the user's environment.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve as resolvePath } from "node:path";
import {
  isWorkflowError,
  messageOf,
  toErrorRecord,
  type WorkflowError,
} from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { buildHint, type BuildAnswer, type BuildRequest } from "./build.ts";
import { nearestName } from "../document/nearest.ts";
import { bunFlags } from "../system/programs.ts";
import { openChannel } from "./child.ts";
import { finishBuild, portableNames } from "./finish.ts";
import { findOwnPackages, lentFiles, writeConfig } from "./own-packages.ts";
import { buildFailed, macroInSource, secondFile } from "./errors.ts";

const { request, answer } = openChannel();
const { source, tsconfig, out, resolve, within } = request as BuildRequest;
/** Loaders by file extension. By default, Bun would convert Markdown files, such as prompts, to HTML. */
const loader = { ".md": "text" } as const;
const define = {
  "process.env.NODE_ENV": '"production"',
  "import.meta.main": "false",
  ...portableNames,
};
const noExport = /No matching export in "(.*)" for import "(.*)"/;
/** Matches the names of this project's packages. Their code is not the author's code. */
const runtimeName = /^@uncaged\/workflow(-(agents|steps|graph|plan|restate))?$/;
const runtimeFolders = new Map<string, boolean>();

const isData = /\.(txt|md|json|jsonc|ya?ml|toml)$/i;

type Inputs = Bun.BuildMetafile["inputs"];

const own = await findOwnPackages(join(out, "library"));

try {
  const lent = await lentFiles(own, resolve, refuseMacros(), isOwnFile);
  answer({ inputs: await build(lent) } satisfies BuildAnswer);
} catch (error) {
  const known = isWorkflowError(error) ? error : failed([`${source}: ${messageOf(error)}`]);
  answer({ refused: toErrorRecord(known) } satisfies BuildAnswer);
}

/**
 * Refuses a source with macros or build errors; returns the author's files and their imports. A macro runs code during
 * the build. Only the command `bun build` can forbid macros (`--no-macros`), so it builds the source first. This
 * program's executable contains the command.
 */
function refuseMacros(): Inputs {
  const defines = Object.entries(define).map(([name, value]) => `--define=${name}:${value}`);
  const lendable = [...own.names, ...Object.keys(resolve)];
  const external = lendable.map((name) => `--external=${name}`);
  const loaders = Object.entries(loader).map(([ending, kind]) => `--loader=${ending}:${kind}`);
  const options = ["--no-macros", "--target=node", "--format=esm", "--env=disable"];
  const metafile = join(out, "first.json");
  const files = [`--tsconfig-override=${tsconfig}`, `--outdir=${join(out, "first")}`];
  const paths = [...files, `--metafile=${metafile}`, source];
  const { status, stderr } = spawnSync(
    process.execPath,
    ["build", ...bunFlags, ...options, ...external, ...defines, ...loaders, ...paths],
    { encoding: "utf8", env: { ...process.env, BUN_BE_BUN: "1" }, maxBuffer: 64 << 20 },
  );
  if (status === 0) {
    return (JSON.parse(readFileSync(metafile, "utf8")) as Bun.BuildMetafile).inputs;
  }
  const problems = problemsIn(stderr);
  const isMacro = problems.some((problem) => problem.includes("Macros are disabled"));
  if (isMacro) throw macroInSource(problems);
  throw failed(problems.length > 0 ? problems : [`${source}: ${messageOf(stderr)}`]);
}

function failed(problems: string[]): WorkflowError {
  const [first = ""] = problems;
  return buildFailed(problems, exportHint(first) ?? buildHint(first));
}

/** Suggests a name for an import that a module does not export. */
function exportHint(problem: string): string | undefined {
  const [, file = "", name = ""] = noExport.exec(problem) ?? [];
  if (name === "") return undefined;
  const meant = nearestName(name, exportsOf(file));
  return meant === null ? "see what that module exports" : `did you mean ${meant}?`;
}

function exportsOf(file: string): string[] {
  try {
    const language = /\.[cm]?ts$/.test(file) ? "ts" : "tsx";
    return new Bun.Transpiler({ loader: language }).scan(readFileSync(file)).exports;
  } catch {
    return [];
  }
}

/** Returns `file:line:column: message` for each error in the output of Bun's command. */
function problemsIn(printed: string): string[] {
  const found = printed.matchAll(/^error: (.*)\n(?: {4}at (.+))?/gm);
  return [...found].map(
    ([, message = "", position]) => `${position ?? source}: ${inOurWords(message)}`,
  );
}

function inOurWords(message: string): string {
  const module = /^Browser build cannot import Bun builtin: (".*?")/.exec(message)?.[1];
  if (module) return `imports ${module}, which only Bun has: import Node's built-in modules only`;
  return message.replace(/\. Maybe you need to "bun install"\?$/, "");
}

async function build(lent: Record<string, string>): Promise<string[]> {
  const isLending = Object.keys(lent).length > 0;
  const result = await Bun.build({
    entrypoints: [source],
    target: "node",
    format: "esm",
    // Keep names: workflows match errors by class name, and steps may have the names of functions.
    minify: { whitespace: true, syntax: true, keepNames: true },
    sourcemap: "external",
    loader,
    env: "disable",
    tsconfig: isLending ? writeConfig(out, tsconfig, lent) : tsconfig,
    define,
    throw: false,
    metafile: true,
  });
  const files = result.outputs.filter(({ kind }) => kind !== "sourcemap");
  const map = result.outputs.find(({ kind }) => kind === "sourcemap");
  if (!result.success || !map) throw failed(result.logs.map(placed));
  const inputs = result.metafile?.inputs ?? {};
  if (within !== undefined) checkInside(within, inputs, lent);
  const [code, second] = files;
  if (!code || second) throw secondFile(source, second?.path ?? "none");
  const texts = await withTexts(await map.text(), Object.keys(inputs));
  const whole = finishBuild(await code.text(), texts, isRuntime);
  await writeFile(join(out, "code.js"), whole.code);
  await writeFile(join(out, "code.map"), whole.map);
  return Object.keys(inputs).map((path) => resolvePath(path));
}

/** Returns whether a file belongs to one of this project's packages, by the nearest `package.json` with a name. */
function isOwnFile(path: string): boolean {
  const folder = dirname(path);
  const known = runtimeFolders.get(folder);
  if (known !== undefined) return known;
  const name = packageName(join(folder, "package.json"));
  const isOwn = name === null ? folder !== path && isOwnFile(folder) : runtimeName.test(name);
  runtimeFolders.set(folder, isOwn);
  return isOwn;
}

function packageName(path: string): string | null {
  try {
    const { name } = JSON.parse(readFileSync(path, "utf8")) as { name?: unknown };
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

/**
 * Returns whether a source of the map is not the author's code: it is a file of this project's packages, or a module
 * generated from another file.
 */
function isRuntime(name: string): boolean {
  const path = resolvePath(dirname(source), name);
  return (path === source && dirname(source) === out) || isOwnFile(path);
}

/** Adds the author's data files that the code contains, such as prompts, to a source map. */
async function withTexts(map: string, inputs: string[]): Promise<string> {
  const parsed = JSON.parse(map) as { sources: string[]; sourcesContent: (string | null)[] };
  const data = inputs.filter((path) => isData.test(path) && !/(^|\/)node_modules\//.test(path));
  for (const path of data.toSorted()) {
    parsed.sources.push(relative(process.cwd(), resolvePath(path)));
    parsed.sourcesContent.push(await Bun.file(path).text());
  }
  return JSON.stringify(parsed);
}

/** Refuses imports of files outside of the folder, except the `lent` files. */
function checkInside(folder: string, inputs: Inputs, lent: Record<string, string>): void {
  const isInside = (path: string) => resolvePath(path).startsWith(join(folder, "/"));
  const problems = Object.entries(inputs)
    .filter(([path]) => isInside(path))
    .flatMap(([path, { imports }]) =>
      imports
        .filter((one) => one.path in inputs && !isInside(one.path))
        .flatMap(({ original = "" }) =>
          Object.hasOwn(lent, original)
            ? []
            : `${resolvePath(path)}: Could not resolve: ${show(original)}`,
        ),
    );
  if (problems.length > 0) throw failed(problems);
}

function placed({ message, position }: BuildMessage | ResolveMessage): string {
  const line = position && position.line > 0 ? `:${position.line}:${position.column}` : "";
  return `${position?.file ?? source}${line}: ${message}`;
}
