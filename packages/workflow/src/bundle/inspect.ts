import { resolve } from "node:path";
import type { Descriptor } from "../contract/contract.ts";
import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import type { SandboxMode } from "../sandbox/mode.ts";
import { type ChildEnd, inTemporary, runChild } from "./child.ts";
import { type LoadProblem, loadFailed, positionIn } from "./module.ts";
import type { SourceMap, SourcePosition } from "./source-map.ts";
import { bundleRefused } from "./errors.ts";

/** Request to `inspect-child`. */
export type InspectRequest = { path: string };

/** A read of process state while a bundle was loaded, with the bundle's positions on the stack. */
export type ReadAtLoad = { what: string; positions: SourcePosition[] };

/** Response of `inspect-child`. */
export type InspectAnswer =
  | { descriptor: Descriptor; reads: ReadAtLoad[] }
  | { refused: ErrorRecord }
  | { required: LoadProblem[] }
  | { problem: LoadProblem };

type InspectOptions = {
  timeoutMs?: number;
  maxMemory?: number;
  sandbox?: SandboxMode;
  file?: string;
  map?: SourceMap;
  /** Receives the bundle's reads of process state at module level. */
  onReads?: (reads: ReadAtLoad[]) => void;
};

/**
 * Loads a bundle in a child process, checks its exports, and returns its descriptor. `file` is the bundle's name in
 * messages, `map` its source map.
 *
 * The bundle's top level runs in the child for at most `timeoutMs` (10 seconds by default) and with at most `maxMemory`
 * (1 GiB), without environment and input, in an empty working directory. In a sandbox it also has no network and can't
 * read the user's files. Without a sandbox this prevents accidents, not attacks: the child has the rights of the user.
 * @throws WorkflowError `BUNDLE_LOAD_FAILED`, `BUNDLE_REFUSED` (its exports), `BAD_DESCRIPTOR`, `SANDBOX_MISSING`.
 */
export async function inspectBundle(
  path: string,
  options: InspectOptions = {},
): Promise<Descriptor> {
  const { timeoutMs = 10_000, maxMemory = 1 << 30, sandbox = "auto", file = path, map } = options;
  const request: InspectRequest = { path: resolve(path) };
  const end = await inTemporary("uncaged-inspect-", (cwd) =>
    runChild({
      ...{ program: "inspect-child", request, cwd, timeoutMs, maxMemory },
      sandbox: { mode: sandbox, files: [request.path] },
    }),
  );
  if (end.by !== "answer") {
    const message = describe(end, timeoutMs, maxMemory);
    throw loadFailed({ message, position: null }, file);
  }
  const answer = end.answer as InspectAnswer;
  if ("problem" in answer) throw loadFailed(answer.problem, file, map);
  if ("required" in answer) {
    throw bundleRefused(
      answer.required.map(
        ({ message, position }) => `${positionIn(file, position, map)}: ${message} (no-require)`,
      ),
    );
  }
  if ("descriptor" in answer) {
    options.onReads?.(answer.reads);
    return answer.descriptor;
  }
  throw new WorkflowError({ ...answer.refused, message: `${file}: ${answer.refused.message}` });
}

function describe(end: Exclude<ChildEnd, { by: "answer" }>, time: number, memory: number): string {
  if (end.by === "time") return `was not loaded within ${time / 1000} s`;
  if (end.by === "exit") return `the process ${end.how} while loading the bundle`;
  return `used more than ${Math.round(memory / 2 ** 20)} MiB to load`;
}
