import { realpathSync } from "node:fs";
import { Module } from "node:module";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { isBuiltin } from "./builtins.ts";
import { type LoadProblem, stackPlace } from "./module.ts";

/** Node and Bun resolve every `require` by this function, however a module came by its `require`. */
type Loader = {
  _resolveFilename(
    this: unknown,
    request: string,
    parent?: { filename?: string | null },
    ...rest: unknown[]
  ): string;
};

const guarded = new Map<string, (refused: LoadProblem) => void>();

/**
 * Makes each `require` of a bundle throw that names anything but a Node built-in, for the life of this process.
 * `onRefused` is also told of those that the bundle catches.
 */
export function guardRequires(
  path: string,
  onRefused: (refused: LoadProblem) => void = () => undefined,
): void {
  if (guarded.size === 0) install(Module as unknown as Loader);
  // Behind a link a stack may name either path.
  for (const name of [path, realPathOf(path)]) guarded.set(name, onRefused);
}

// A simulated root is not on the disk.
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function install(loader: Loader): void {
  const resolve = loader._resolveFilename;
  loader._resolveFilename = function (request, parent, ...rest) {
    if (!isBuiltin(request)) refuseToBundle(request, parent?.filename ?? null);
    return resolve.call(this, request, parent, ...rest);
  };
}

/**
 * A bundle is on the stack, or owns the `require`: the engine drops a function from the stack whose last act is a call,
 * and `createRequire` takes any owner.
 *
 * @throws WorkflowError `BUNDLE_REFUSED` when a guarded bundle requires.
 */
function refuseToBundle(request: string, owner: string | null): void {
  const error = WorkflowError.failed(
    "BUNDLE_REFUSED",
    `requires ${show(String(request))}, which is no Node built-in`,
    "import what the bundle needs, and bundle it",
  );
  for (const [path, onRefused] of guarded) {
    const position = stackPlace(error, path);
    if (position === null && owner !== path) continue;
    onRefused({ message: error.message, position });
    throw error;
  }
}
