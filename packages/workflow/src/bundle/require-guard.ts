import { Module } from "node:module";
import { isBuiltin } from "./builtins.ts";
import { type LoadProblem, stackPlace } from "./module.ts";
import { isOwnRequire } from "./own-require.ts";
import { requireRefused } from "./errors.ts";

/** Part of the class `Module`: Node and Bun resolve every `require` with this function, in any kind of module. */
type Loader = {
  _resolveFilename: (
    this: unknown,
    request: unknown,
    parent?: { filename?: string | null },
    ...rest: unknown[]
  ) => string;
};

const guarded = new Map<string, (refused: LoadProblem) => void>();

/**
 * Makes each `require` of a bundle throw unless it names a Node built-in module, for the life of this process.
 * `onRefused` receives every refusal, also if the bundle catches the error.
 */
export function guardRequires(
  path: string,
  onRefused: (refused: LoadProblem) => void = () => undefined,
): void {
  if (guarded.size === 0) install(Module as unknown as Loader);
  // With a symbolic link, a stack may have either path. Both end with the bundle's folder and file name.
  guarded.set(`/${path.split("/").slice(-2).join("/")}`, onRefused);
}

function install(loader: Loader): void {
  const { _resolveFilename: resolve } = loader;
  loader._resolveFilename = function (request, parent, ...rest) {
    const name = String(request);
    if (!isOwnRequire() && !isBuiltin(name)) refuseToBundle(name, parent?.filename ?? "");
    return resolve.call(this, request, parent, ...rest);
  };
}

/**
 * Refuses a `require` when a bundle is on the stack or owns it. Each check alone misses cases: a stack omits functions
 * that ended with a tail call, and `createRequire` accepts any owner.
 *
 * @throws WorkflowError `BUNDLE_REFUSED`
 */
function refuseToBundle(request: string, owner: string): void {
  const error = requireRefused(request);
  for (const [path, onRefused] of guarded) {
    const position = stackPlace(error, path);
    if (position === null && !owner.endsWith(path)) continue;
    onRefused({ message: error.message, position });
    throw error;
  }
}
