import { constants, existsSync, type Stats } from "node:fs";
import { type FileHandle, open, readFile, realpath, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve as resolvePath } from "node:path";
import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import { diskError, systemCode } from "../disk/disk-error.ts";
import { inTemporary, runChild } from "./child.ts";
import { type RolePositions, SourceMap } from "./source-map.ts";
import {
  badPath,
  buildFailed,
  emptyFile,
  fileNotFound,
  notAFile,
  sourceTooLarge,
} from "./errors.ts";

/** A built bundle. `map` is its source map, with paths relative to the source's folder. `inputs` are all files read. */
export type Built = { code: Uint8Array; map: string; inputs: string[] };

/**
 * Request to `build-child`, which writes `code.js` and `code.map` into the folder `out`. `resolve` maps packages that
 * may be missing in the source's folder to files. Imports of any other file outside of `within` fail.
 */
export type BuildRequest = {
  source: string;
  tsconfig: string;
  out: string;
  within?: string;
  resolve: Readonly<Record<string, string>>;
};

/** Response of `build-child`. */
export type BuildAnswer = { inputs: string[] } | { refused: ErrorRecord };

const timeoutMs = 120_000;
const maxMemory = 4 * 2 ** 30;

/**
 * Builds a source into one minified ES module that imports only Node's built-in modules. Functions and classes keep
 * their names.
 *
 * The same source gives the same bytes in every folder and environment: only the project's own `tsconfig.json` and
 * `node_modules` reach the build. No code of the source runs. Without a `node_modules` the source may import
 * `@uncaged/workflow`, which resolves to the running copy.
 * @param within the folder to which imports are limited, except for the running program's own packages
 * @throws WorkflowError the errors of `statSource`; `BUILD_FAILED` with file, line and column.
 */
export async function buildBundle(file: string, within?: string): Promise<Built> {
  await statSource(file);
  const source = await realpath(file);
  const folder = dirname(file) === "." ? "" : join(dirname(file), "/");
  const shown = (text: string) => text.replaceAll(join(dirname(source), "/"), folder);
  return await inTemporary("uncaged-build-", (out) =>
    buildIn(out, { source, tsconfig: projectConfig(source), resolve: {}, within }, shown),
  );
}

/**
 * Builds a module generated from another kind of source, like {@link buildBundle}.
 *
 * @param text the text of the original source
 * @param file the name of the original source as the user gave it, for messages
 * @throws WorkflowError `BUILD_FAILED`.
 */
export async function buildModule(
  { code, resolve, inputs = [], roles }: SourceModule,
  text: string,
  file: string,
): Promise<Built> {
  return await inTemporary("uncaged-build-", async (out) => {
    const source = join(out, "module.ts");
    await writeFile(source, code);
    const shown = (message: string) => message.replaceAll(source, file);
    const built = await buildIn(out, { source, tsconfig: null, resolve }, shown);
    const parts = await Promise.all(
      inputs.map(async (path) => [relative(dirname(file), path), await textOf(path)] as const),
    );
    const sources = [...parts, [basename(file), text] as const];
    const map = roles ? SourceMap.withRoles(built.map, sources, roles) : built.map;
    return { ...built, map, inputs: [file, ...inputs].map((path) => resolvePath(path)) };
  });
}

const textOf = (path: string): Promise<string | null> => readFile(path, "utf8").catch(() => null);

type Source = Pick<BuildRequest, "source" | "resolve" | "within"> & { tsconfig: string | null };

// `shown` replaces the build's paths in a message by the user's paths.
async function buildIn(
  out: string,
  { source, tsconfig, resolve, within }: Source,
  shown: (text: string) => string,
): Promise<Built> {
  const empty = join(out, "tsconfig.json");
  await writeFile(empty, "{}");
  const request: BuildRequest = { source, resolve, out, within, tsconfig: tsconfig ?? empty };
  const cwd = dirname(source);
  const env = { NODE_ENV: "production", NO_COLOR: "1" };
  const end = await runChild({ program: "build-child", request, cwd, env, timeoutMs, maxMemory });
  if (end.by !== "answer") {
    const how = end.by === "exit" ? end.how : `exceeded its ${end.by} limit`;
    const problem = shown(`${source}: the build ${how}`);
    throw buildFailed([problem], buildHint(problem));
  }
  const answer = end.answer as BuildAnswer;
  if ("refused" in answer) {
    const { message, details, ...rest } = answer.refused;
    throw new WorkflowError({ ...rest, message: shown(message), details: details?.map(shown) });
  }
  const code = new Uint8Array(await readFile(join(out, "code.js")));
  const inputs = tsconfig === null ? answer.inputs : [...answer.inputs, tsconfig];
  return { code, map: await readFile(join(out, "code.map"), "utf8"), inputs };
}

/** Returns the hint for a problem of a build. */
export function buildHint(problem: string): string {
  const [, wanted = ""] = /Could not resolve: "(.*?)"/.exec(problem) ?? [];
  const [, name] = /^((?:@[^/]+\/)?[^./@][^/]*)/.exec(wanted) ?? [];
  if (name !== undefined) return `install it in the project of the source: npm install ${name}`;
  if (wanted !== "") return "correct the path: it is relative to the importing file";
  return "fix the source";
}

/**
 * Returns the `tsconfig.json` of a source: the nearest one from its folder up to its project's `package.json`, both
 * included; without a project, the `tsconfig.json` in the source's folder. Files above the project are ignored: they
 * would make the bytes depend on the folder.
 */
function projectConfig(source: string): string | null {
  const own = dirname(source);
  const folders: string[] = [];
  for (let folder = own; folder !== folders.at(-1); folder = dirname(folder)) {
    folders.push(folder);
    if (existsSync(join(folder, "package.json"))) return firstConfig(folders);
  }
  return firstConfig([own]);
}

const firstConfig = (folders: string[]): string | null =>
  folders.map((folder) => join(folder, "tsconfig.json")).find(existsSync) ?? null;

/**
 * A TypeScript module generated from a source of another kind. `resolve` maps its imported packages to files of the
 * running program, because the source's own folder may lack them. `roles` maps each role to the position of its
 * description in the source, for errors of that role.
 */
export type SourceModule = {
  code: string;
  resolve: Readonly<Record<string, string>>;
  /** Paths of other files that the module includes as text. */
  inputs?: readonly string[];
  roles?: RolePositions;
};

/**
 * A kind of source other than TypeScript, added by the calling program. It matches by file name, and also by text if
 * several kinds use the same file names. `module` must depend on the text alone, so that the same source gives the same
 * hash everywhere. Errors of `module` name the position in the source.
 *
 * @example const sources = [{ matches: (file) => file.endsWith(".json"), module: toModule }];
 */
export type SourceKind = {
  matches(file: string): boolean;
  recognizes?(text: string, file: string): boolean;
  module(text: string, file: string): Promise<SourceModule>;
};

/**
 * Checks that a path is a file with content.
 *
 * @throws WorkflowError `NO_SUCH_FILE`, `NOT_A_FILE`, `BAD_PATH`, `EMPTY_FILE`, and the errors of the disk.
 */
export async function statSource(path: string): Promise<void> {
  try {
    checkStats(path, await stat(path));
  } catch (error) {
    throw pathError(path, error);
  }
}

/**
 * Reads a file that the user named, of at most `maxBytes`. Refuses a named pipe (FIFO) without waiting for a writer.
 *
 * @throws WorkflowError the errors of `statSource`, and `FILE_TOO_LARGE`.
 */
export async function readSource(path: string, maxBytes: number): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    checkStats(path, await file.stat(), maxBytes);
    const bytes = new Uint8Array(await file.readFile());
    checkSize(path, bytes.length, maxBytes);
    return bytes;
  } catch (error) {
    throw pathError(path, error);
  } finally {
    await file?.close();
  }
}

function checkStats(path: string, stats: Stats, maxBytes = Number.POSITIVE_INFINITY): void {
  if (!stats.isFile()) throw notAFile(path, stats.isDirectory());
  if (stats.size === 0) throw emptyFile(path);
  checkSize(path, stats.size, maxBytes);
}

function checkSize(path: string, size: number, maxBytes: number): void {
  if (size <= maxBytes) return;
  throw sourceTooLarge(path, size, maxBytes);
}

function pathError(path: string, error: unknown): unknown {
  if (error instanceof WorkflowError) return error;
  const system = systemCode(error);
  if (system === "ENOENT" || system === "ENOTDIR") {
    return fileNotFound(path);
  }
  if (system === "ENAMETOOLONG" || system?.startsWith("ERR_INVALID_ARG")) {
    return badPath(path);
  }
  return diskError(error, "read", path);
}
