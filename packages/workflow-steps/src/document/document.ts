import { type ErrorKind, WorkflowError } from "@uncaged/workflow";
import { foundProblems } from "@uncaged/workflow/interpreter";

/** Returns an object of names: `constants("a", "b").a` is `"a"`. */
const constants = <const Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, name])) as { readonly [Each in Name]: Each };

/** The target environments of a workflow. `IDE` forbids services. */
export const WorkflowType = constants("IDE", "Business", "Approval", "Local");
/** The type of a workflow. */
export type WorkflowType = keyof typeof WorkflowType;

/** The statuses of a run. */
export const ExecutionStatus = constants(
  "running",
  "completed",
  "failed",
  "stopped",
  "paused",
  "cancelled",
);
/** The status of a run. */
export type ExecutionStatus = keyof typeof ExecutionStatus;

/** The modes of a Write. */
export const WriteMode = constants("overwrite", "failIfExists", "append", "prepend");
/** The mode of a Write. */
export type WriteMode = keyof typeof WriteMode;

/** The modes of a Loop. */
export const LoopMode = constants("serial", "parallel");
/** The mode of a Loop. */
export type LoopMode = keyof typeof LoopMode;

/**
 * Response of a fork to a failed child: abort the siblings and fail the run; drop the child; or wait for all children,
 * then fail the run with all errors.
 */
export const ParallelErrorStrategy = constants("fail_fast", "continue", "collect");
/** Response of a construct to the failure of a child. */
export type ParallelErrorStrategy = keyof typeof ParallelErrorStrategy;

/** A value of `next` that ends the chain. */
export const RETURN = "RETURN";
export const BREAK = "BREAK";

/** The name of the implicit fork of several entry steps. */
export const ENTRY = "__entry__";

/** The types of steps. Each is also the id prefix of its steps. */
export const StepType = constants(
  "Service",
  "API",
  "Component",
  "LLM",
  "Set",
  "Write",
  "Download",
  "Unzip",
  "Pause",
  "Branch",
  "Loop",
  "Stop",
  "Noop",
  "Tool",
  "Subflow",
);
/** The canonical type of a step. */
export type StepType = keyof typeof StepType;

export const aliases: Readonly<Record<string, StepType>> = {
  Fork: "Noop",
  Check: "Branch",
  Done: "Stop",
};

/** The types of steps that make calls. They have `in`, `out` and `onError`. */
export const callTypes: ReadonlySet<string> = new Set<StepType>([
  "Service",
  "API",
  "Component",
  "LLM",
  "Download",
  "Unzip",
  "Tool",
  "Subflow",
]);

/** Returns the text before the first `_` of an id, or the whole id if it has no `_`. */
export const prefixOf = (id: string): string => id.split("_", 1)[0] ?? id;

/**
 * Returns the canonical type of a step or of a step's id; null for an unknown type. An explicit `type` takes precedence
 * over the id's prefix. Resolves the aliases `Fork`, `Check` and `Done`.
 */
export function getStepType(step: string | { id: string; type?: string }): StepType | null {
  const name = typeof step === "string" ? prefixOf(step) : (step.type ?? prefixOf(step.id));
  if (Object.hasOwn(StepType, name)) return name as StepType;
  return Object.hasOwn(aliases, name) ? (aliases[name] as StepType) : null;
}

/**
 * Returns the name in a step's id: the id without its prefix, and without a leading ordering number unless the name
 * with the number is known (`API_010_users` calls `users`).
 */
export function nameOf(id: string, known: readonly string[] = []): string {
  const rest = id.slice(prefixOf(id).length + 1);
  return known.includes(rest) ? rest : rest.replace(/^\d+_(?=.)/, "");
}

/** Splits `provider/model`; either side may be empty. Returns null for a name without a slash. */
export function modelSides(model: string): [provider: string, name: string] | null {
  const at = model.indexOf("/");
  return at < 0 ? null : [model.slice(0, at).trim(), model.slice(at + 1).trim()];
}

/** The supported versions of the format: 3.0 to 3.18. */
export const SUPPORTED_VERSIONS: readonly string[] = Array.from(
  { length: 19 },
  (_, minor) => `3.${minor}`,
);

/** Returns the minor number of a version (9 for `3.9`); null if unsupported. */
export function minorOf(version: unknown): number | null {
  const minor = SUPPORTED_VERSIONS.indexOf(String(version));
  return typeof version === "string" && minor >= 0 ? minor : null;
}

/** Returns whether a version is 3.10 or later, compared by number: `3.9` is earlier. */
export const isV310OrLater = (version: string): boolean => (minorOf(version) ?? 0) >= 10;

/** Creates an error of a step workflow from its code, message and hint. */
export const failure = (
  code: string,
  message: string,
  hint: string,
  { cause, ...more }: { kind?: ErrorKind; details?: string[]; cause?: unknown } = {},
): WorkflowError => new WorkflowError({ code, message, hint, ...more }, { cause });

/** Creates one error from several problems. The first problem is the message, and `details` has all problems. */
export function failures(code: string, problems: readonly string[], hint: string, what = "") {
  const { details, message } = foundProblems(problems);
  return failure(code, what + message, hint, { details });
}
