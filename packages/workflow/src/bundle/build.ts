import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ErrorRecord, fromErrorRecord, WorkflowError } from "../contract/error.ts";
import { runChild } from "./child.ts";
import { projectConfig } from "./project.ts";
import { statSource } from "./source-file.ts";
import type { SourceModule } from "./source-kind.ts";

/** A built bundle: `map` is its source map; its sources are named from the source's folder. */
export type Built = { code: Uint8Array; map: string };

/**
 * What `build-child` is asked. It writes `code.js` and `code.map` into the folder `out`. `resolve` has
 * the files of packages that the source's folder need not have.
 */
export type BuildRequest = {
  source: string;
  tsconfig: string;
  out: string;
  resolve: Readonly<Record<string, string>>;
};

/** What `build-child` answers. */
export type BuildAnswer = { done: true } | { refused: ErrorRecord };

const timeoutMs = 120_000;
const maxMemory = 4 * 2 ** 30;

/**
 * Builds a TypeScript or JavaScript source into one minified ES module that imports nothing but
 * Node's own modules.
 *
 * The same source gives the same bytes in every folder, environment and working directory: nothing
 * of them reaches the build but the project's own `tsconfig.json` and `node_modules`. No code of the
 * source runs: Bun's macros are refused. A source without a `node_modules` may import
 * `@uncaged/workflow`: it then gets the copy that is running.
 * @throws WorkflowError those of {@link statSource}; `BUILD_FAILED` with file, line and column; `details` has all errors.
 */
export async function buildBundle(sourceFile: string): Promise<Built> {
  await statSource(sourceFile);
  const source = await realpath(sourceFile);
  const shown = (text: string) => text.replaceAll(join(dirname(source), "/"), folderOf(sourceFile));
  const tsconfig = projectConfig(source);
  return await inFolder(shown, async (out) => ({ source, tsconfig, out, resolve: {} }));
}

/**
 * Builds a module that was made from another kind of source, as {@link buildBundle} builds a file.
 *
 * @param file the source as the user named it, for messages
 * @throws WorkflowError `BUILD_FAILED`.
 */
export async function buildModule(module: SourceModule, file: string): Promise<Built> {
  const { code, resolve } = module;
  let source = "";
  return await inFolder(
    (text) => text.replaceAll(source, file),
    async (out) => {
      source = join(out, "module.ts");
      await writeFile(source, code);
      return { source, tsconfig: null, out, resolve };
    },
  );
}

type Request = Omit<BuildRequest, "tsconfig"> & { tsconfig: string | null };

// `shown` makes the build's paths those that the user knows.
async function inFolder(
  shown: (text: string) => string,
  requestIn: (out: string) => Promise<Request>,
): Promise<Built> {
  const out = await realpath(await mkdtemp(join(tmpdir(), "uncaged-build-")));
  try {
    const empty = join(out, "tsconfig.json");
    await writeFile(empty, "{}");
    const { tsconfig, ...request } = await requestIn(out);
    const answer = await askChild({ ...request, tsconfig: tsconfig ?? empty });
    if ("refused" in answer) {
      const { message, details, ...rest } = answer.refused;
      throw fromErrorRecord({
        ...rest,
        message: shown(message),
        ...(details && { details: details.map(shown) }),
      });
    }
    const code = new Uint8Array(await readFile(join(out, "code.js")));
    return { code, map: await readFile(join(out, "code.map"), "utf8") };
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

async function askChild(request: BuildRequest): Promise<BuildAnswer> {
  const { source } = request;
  const end = await runChild({
    entry: "build-child",
    request,
    cwd: dirname(source),
    env: { NODE_ENV: "production", NO_COLOR: "1" },
    timeoutMs,
    maxMemory,
  });
  if (end.by === "answer") return end.answer as BuildAnswer;
  const how = end.by === "exit" ? end.how : `passed its limit of ${end.by}`;
  throw buildFailed([`${source}: the build ${how}`]);
}

// With a slash at its end, as the user named it.
function folderOf(file: string): string {
  const folder = dirname(file);
  return folder === "." ? "" : join(folder, "/");
}

/** The error of a build that found these problems, each `file:line:column: message`. */
export function buildFailed(problems: string[], hint?: string): WorkflowError {
  const [first = "the build gave no code", ...others] = problems;
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return new WorkflowError({
    code: "BUILD_FAILED",
    kind: "failed",
    message: `${first}${more}`,
    hint: hint ?? "mend the source; what it imports must be installed beside it",
    ...(problems.length > 1 && { details: problems }),
  });
}
