import {
  type FileHandle,
  mkdtemp,
  open,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import { runChild } from "./child.ts";
import { type Stats, constants, existsSync } from "node:fs";
import { show } from "../contract/show.ts";
import { diskError, systemCode } from "../storage/disk-error.ts";

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
      throw new WorkflowError({
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
    message: `${first}${more}`,
    hint: hint ?? "fix the source; what it imports must be installed beside it",
    ...(problems.length > 1 && { details: problems }),
  });
}

/**
 * The `tsconfig.json` that belongs to a source: the nearest one between it and its project's
 * `package.json`, both included; null when there is none.
 *
 * What lies above the project is another's: it would make the bytes depend on the folder.
 */
export function projectConfig(source: string): string | null {
  const folders = projectFolders(dirname(source));
  return folders.map((folder) => join(folder, "tsconfig.json")).find(existsSync) ?? null;
}

// From the source up to the folder with package.json; only the source's own when there is none.
function projectFolders(start: string): string[] {
  const folders = [start];
  for (let folder = start; !existsSync(join(folder, "package.json")); ) {
    const above = dirname(folder);
    if (above === folder) return [start];
    folders.push(above);
    folder = above;
  }
  return folders;
}

/**
 * A source's text as a module that can be built. `resolve` maps each package to its file
 * that the module imports by its name: those of the program that is running, for the source's own
 * folder need have none. What those files import is found from where they lie.
 */
export type SourceModule = { code: string; resolve: Readonly<Record<string, string>> };

/**
 * A kind of source beside TypeScript, brought by the program that adds it.
 *
 * `module` must depend on the text alone and not on where the file lies: the same source then gives
 * the same hash everywhere. What is wrong with the text it throws, with the position in the text.
 * @example const sources = [{ matches: (file) => file.endsWith(".json"), module: toModule }];
 */
export type SourceKind = {
  matches(file: string): boolean;
  module(text: string, file: string): Promise<SourceModule>;
};

/**
 * Checks that a path names a file with content, with a message for each way in which it does not.
 *
 * @throws WorkflowError `NO_SUCH_FILE` (missing), `NOT_A_FILE`, `BAD_PATH` (usage), `EMPTY_FILE`, and
 * what the disk refuses.
 */
export async function statSource(path: string): Promise<void> {
  try {
    checkStats(path, await stat(path));
  } catch (error) {
    throw pathError(path, error);
  }
}

/**
 * The bytes of a file that the user named, at most `maxBytes`. Waits at no FIFO.
 *
 * @throws WorkflowError as {@link statSource}, and `FILE_TOO_LARGE`.
 */
export async function readSource(path: string, maxBytes: number): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = checkStats(path, await file.stat());
    if (size > maxBytes) throw tooLarge(path, size, maxBytes);
    const bytes = new Uint8Array(await file.readFile());
    if (bytes.length > maxBytes) throw tooLarge(path, bytes.length, maxBytes);
    return bytes;
  } catch (error) {
    throw pathError(path, error);
  } finally {
    await file?.close();
  }
}

function checkStats(path: string, stats: Stats): Stats {
  if (!stats.isFile()) {
    throw new WorkflowError({
      code: "NOT_A_FILE",
      kind: "usage",
      message: `${show(path)} is ${stats.isDirectory() ? "a folder" : "no regular file"}`,
      hint: "name the file itself",
    });
  }
  if (stats.size > 0) return stats;
  throw new WorkflowError({
    code: "EMPTY_FILE",
    message: `${show(path)} is empty`,
    hint: "build it again, and see that the disk is not full",
  });
}

function tooLarge(path: string, size: number, maxBytes: number): WorkflowError {
  return new WorkflowError({
    code: "FILE_TOO_LARGE",
    message: `${show(path)} has ${size} bytes, ${maxBytes} are the most`,
    hint: "keep data out of the file and read it in run",
  });
}

function pathError(path: string, error: unknown): unknown {
  if (error instanceof WorkflowError) return error;
  const system = systemCode(error);
  if (system === "ENOENT" || system === "ENOTDIR") {
    return new WorkflowError({
      code: "NO_SUCH_FILE",
      kind: "missing",
      message: `there is no file ${show(path)}`,
      hint: "check the path; it counts from the folder that you are in",
    });
  }
  if (system === "ENAMETOOLONG" || system?.startsWith("ERR_INVALID_ARG")) {
    return new WorkflowError({
      code: "BAD_PATH",
      kind: "usage",
      message: `${show(path)} can't be a path`,
      hint: "check the path",
    });
  }
  return diskError(error, "read", path);
}
