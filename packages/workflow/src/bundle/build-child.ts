// The process in which `build.ts` builds: Bun's bundler, away from the user's environment.
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, resolve as resolvePath } from "node:path";
import {
  isWorkflowError,
  messageOf,
  toErrorRecord,
  type WorkflowError,
} from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { type BuildAnswer, type BuildRequest, buildFailed } from "./build.ts";
import { bunFlags, openChannel } from "./child.ts";
import { finishBuild, ownName, ownPackages, portableNames } from "./finish.ts";

const { request, answer } = openChannel();
const { source, tsconfig, out, resolve, within } = request as BuildRequest;
const define = {
  "process.env.NODE_ENV": '"production"',
  "import.meta.main": "false",
  ...portableNames,
};

try {
  refuseMacros();
  await build();
  answer({ done: true } satisfies BuildAnswer);
} catch (error) {
  const known = isWorkflowError(error) ? error : buildFailed([`${source}: ${messageOf(error)}`]);
  answer({ refused: toErrorRecord(known) } satisfies BuildAnswer);
}

// A macro is code that runs while it is built. Only Bun's command can forbid it (`--no-macros`): so
// it builds first, to nowhere, and reports macros and every plain mistake.
function refuseMacros(): void {
  const defines = Object.entries(define).map(([name, value]) => `--define=${name}:${value}`);
  const external = [ownName, ...Object.keys(resolve)].map((name) => `--external=${name}`);
  const options = ["--no-macros", "--target=node", "--format=esm", "--env=disable"];
  const paths = [`--tsconfig-override=${tsconfig}`, `--outdir=${join(out, "first")}`, source];
  const { status, stderr } = spawnSync(
    process.execPath,
    ["build", ...bunFlags, ...options, ...external, ...defines, ...paths],
    { encoding: "utf8", env: process.env, maxBuffer: 64 << 20 },
  );
  if (status === 0) return;
  const problems = problemsIn(stderr);
  const isMacro = problems.some((problem) => problem.includes("Macros are disabled"));
  throw buildFailed(
    problems.length > 0 ? problems : [`${source}: ${messageOf(stderr)}`],
    isMacro
      ? "a build runs no code: import the function as any other, without type macro"
      : undefined,
  );
}

/** `file:line:column: message` of each error that Bun's command printed. */
function problemsIn(printed: string): string[] {
  const found = printed.matchAll(/^error: (.*)\n(?: {4}at (.+))?/gm);
  return [...found].map(
    ([, message = "", position]) => `${position ?? source}: ${inOurWords(message)}`,
  );
}

function inOurWords(message: string): string {
  const module = /^Browser build cannot import Bun builtin: (".*?")/.exec(message)?.[1];
  return module ? `imports ${module}, which is Bun's own: a bundle imports Node's only` : message;
}

async function build(): Promise<void> {
  const result = await Bun.build({
    entrypoints: [source],
    target: "node",
    format: "esm",
    minify: true,
    sourcemap: "external",
    env: "disable",
    tsconfig,
    define,
    throw: false,
    metafile: within !== undefined,
    plugins: [ownPackages(resolve)],
  });
  const files = result.outputs.filter(({ kind }) => kind !== "sourcemap");
  const map = result.outputs.find(({ kind }) => kind === "sourcemap");
  if (!result.success || !map) throw buildFailed(result.logs.map(placed));
  if (within !== undefined) checkInside(within, result.metafile?.inputs ?? {});
  const [code, second] = files;
  if (!code || second) throw notOneFile(second?.path ?? "none");
  const whole = finishBuild(await code.text(), await map.text());
  await writeFile(join(out, "code.js"), whole.code);
  await writeFile(join(out, "code.map"), whole.map);
}

/** Refuses what a file of the folder imports from outside of it. */
function checkInside(folder: string, inputs: Bun.BuildMetafile["inputs"]): void {
  const isInside = (path: string) => resolvePath(path).startsWith(join(folder, "/"));
  const ours = new Set([ownName, ...Object.keys(resolve)]);
  const problems = Object.entries(inputs)
    .filter(([path]) => isInside(path))
    .flatMap(([path, { imports }]) =>
      imports
        .filter((one) => one.path in inputs && !isInside(one.path))
        .flatMap(({ original = "" }) =>
          ours.has(original) ? [] : `${resolvePath(path)}: Could not resolve: ${show(original)}`,
        ),
    );
  if (problems.length > 0) throw buildFailed(problems);
}

function notOneFile(second: string): WorkflowError {
  return buildFailed(
    [`${source}: the build gave a second file (${second}), and a bundle is one file`],
    "import no .wasm, .node, .html, .css or other file that can't stand in the code; .json, .yaml, .toml and .txt can",
  );
}

function placed({ message, position }: BuildMessage | ResolveMessage): string {
  const line = position && position.line > 0 ? `:${position.line}:${position.column}` : "";
  return `${position?.file ?? source}${line}: ${message}`;
}
