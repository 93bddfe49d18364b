import { foundProblems, WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/* Errors of reading, building, checking and loading bundles and their sources. */

const workInRun =
  "do the work in run: a bundle's top level runs, without input, whenever it is loaded";

export const fileNotFound = (path: string): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_FILE",
    `${show(path)}: no such file`,
    "check the path, which is relative to the current folder",
  );

export const badPath = (path: string): WorkflowError =>
  WorkflowError.usage("BAD_PATH", `invalid path ${show(path)}`, "check the path");

export const notAFile = (path: string, isFolder: boolean): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_FILE",
    `${show(path)} is ${isFolder ? "a folder" : "not a regular file"}`,
    "name the file itself",
  );

export const emptyFile = (path: string): WorkflowError =>
  WorkflowError.failed(
    "EMPTY_FILE",
    `${show(path)} is empty`,
    "build it again, and check that the disk is not full",
  );

/** `size` and `most` are in bytes. */
export const sourceTooLarge = (path: string, size: number, most: number): WorkflowError =>
  WorkflowError.failed(
    "FILE_TOO_LARGE",
    `${show(path)} has ${size} bytes, more than ${most}`,
    "keep data out of the file and read it in run",
  );

export const sourceNotUtf8 = (path: string, cause: unknown): WorkflowError =>
  WorkflowError.failed("NOT_UTF8", `${show(path)} is not UTF-8 text`, "save it as UTF-8", cause);

export const typesNotUtf8 = (path: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "BAD_TYPES",
    `${show(path)} is not UTF-8 text`,
    "give the .d.ts file of the bundle",
    cause,
  );

/** A JavaScript file that may be a source or a bundle. `plainName` is the name without an extension. */
export const scriptUnclear = (path: string, plainName: string): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_BUNDLE",
    `${show(path)} is not named as a bundle or a TypeScript source`,
    `rename it to ${plainName}.ts to have it built, or to ${plainName}.esm.js if it is already a bundle`,
  );

export const notABundle = (path: string, isData: boolean): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_BUNDLE",
    `${show(path)} is not a bundle or a TypeScript source${isData ? "; JSON and YAML are not supported here" : ""}`,
    "give an .esm.js file, or a .ts, .mts or .tsx file to build",
  );

/** A failed build. Each problem is `file:line:column: message`. */
export const buildFailed = (problems: string[], hint: string): WorkflowError =>
  new WorkflowError({
    code: "BUILD_FAILED",
    hint,
    ...foundProblems(problems.length > 0 ? problems : ["the build produced no code"]),
  });

export const macroInSource = (problems: string[]): WorkflowError =>
  buildFailed(problems, "import the function without type macro: a build runs no code");

export const secondFile = (source: string, second: string): WorkflowError =>
  buildFailed(
    [`${source}: the build produced a second file (${second}); a bundle is one file`],
    "don't import .wasm, .node, .html, .css and other files that code can't contain; .json, .yaml, .toml, .txt and .md are allowed",
  );

const mostDetails = 1000;

/** A refused bundle. Each problem is `file:line:column: message (rule)`. */
export const bundleRefused = (problems: readonly string[]): WorkflowError =>
  new WorkflowError({
    code: "BUNDLE_REFUSED",
    message: `${problems[0]}${problems.length > 1 ? `, and ${problems.length - 1} more` : ""}`,
    hint: "make one ES module that exports run and descriptor and imports only Node's own modules",
    details: problems.slice(0, mostDetails),
  });

export const requireRefused = (request: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_REFUSED",
    `requires ${show(request)}, which is not a Node built-in`,
    "import the module at the top of the source, and bundle it",
  );

const badExports = (message: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_REFUSED",
    message,
    "export async function* run(input, options) and const descriptor; let the bundler keep generators (ES2018 or later)",
  );

export const runNotGenerator = (found: string): WorkflowError =>
  badExports(`run is ${found}, not an async generator function`);

export const runReturnsOther = (found: string): WorkflowError =>
  badExports(`run is a plain function that returns ${found}, not an async generator`);

export const descriptorNotObject = (found: string): WorkflowError =>
  badExports(`descriptor is ${found}, not an object`);

export const defaultExported = (): WorkflowError => badExports("default export not allowed");

export const badDescriptor = (
  message: string,
  hint = "make the descriptor plain data: {description, roles: {name: {description, schema}}}",
): WorkflowError =>
  new WorkflowError({ code: "BAD_DESCRIPTOR", message: message.slice(0, 2000), hint });

/** `at` is the place of the error as `file:line:column`, or the file. */
export const topLevelFailed = (at: string, problem: string): WorkflowError =>
  WorkflowError.failed("BUNDLE_LOAD_FAILED", `${at}: ${problem}`, workInRun);

export const loadTimeout = (hash: string, timeoutMs: number): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_LOAD_FAILED",
    `the bundle ${hash} was not loaded within ${timeoutMs / 1000} s`,
    workInRun,
  );

/** A worker was killed because its bundle's top level did not finish. */
export const loadBlocked = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_LOAD_FAILED",
    `the bundle ${hash} blocked its worker while loading: the worker was killed`,
    workInRun,
  );

/** `place` is the bundle's path or hash. */
export const bundleMissing = (place: string, workflow?: string): WorkflowError =>
  WorkflowError.missing(
    "BUNDLE_MISSING",
    `missing bundle ${place}${workflow === undefined ? "" : ` of ${workflow}`}`,
    "add the same file again, or roll back to another version",
  );

/** `hash` is the hash of the current bytes. */
export const bundleChanged = (place: string, hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_CHANGED",
    `${place} was changed after it was added: its bytes now have the hash ${hash}`,
    "add the original file again to restore it, or the changed one as a new version",
  );

const sumDiffers = (path: string, record: string, hint: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_CHANGED",
    `${path}: its SHA-256 differs from the record in ${record}`,
    hint,
  );

export const bundleDiffers = (path: string, record: string): WorkflowError =>
  sumDiffers(
    path,
    record,
    "add the original file again to restore it: uncaged-workflow add <name> <file>",
  );

/** A bundle that a record in `file` contradicts. The record is wrong, not the bundle. */
export const recordDiffers = (path: string, record: string, file: string): WorkflowError =>
  sumDiffers(path, record, `restore ${file} from a backup`);

export const paramsInvalid = (problem: string, workflow: string): WorkflowError =>
  WorkflowError.usage(
    "PARAMS_INVALID",
    problem.slice(0, 2000),
    `give one JSON object as this shows: uncaged-workflow show ${workflow}`,
  );

export const sandboxFailed = (problem: string): WorkflowError =>
  WorkflowError.failed(
    "SANDBOX_FAILED",
    problem,
    "repair the sandbox, or load without it: --sandbox off",
  );

/** An unusable temporary folder, in the form that `doctor` reports. */
export const temporaryProblem = (folder: string) => ({
  code: "TMPDIR_UNUSABLE",
  message: `the temporary folder ${folder} is not readable and writable: no bundle can be built or added`,
  hint: "set TMPDIR to a readable and writable folder",
});

export const temporaryUnusable = (folder: string, cause: unknown): WorkflowError => {
  const { code, message, hint } = temporaryProblem(folder);
  return WorkflowError.failed(code, message, hint, cause);
};
