import { type ErrorKind, foundProblems, WorkflowError } from "@uncaged/workflow";

/** Names as constants: `constants("a", "b").a` is `"a"`. */
const constants = <const Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, name])) as { readonly [Each in Name]: Each };

/** Whom a workflow is made for. `IDE` forbids services. */
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
 * What becomes of a fork when a child fails: the siblings are aborted and the run fails; the child is
 * dropped; or all end and then the run fails with every error.
 */
export const ParallelErrorStrategy = constants("fail_fast", "continue", "collect");
/** How a construct treats the failure of a child. */
export type ParallelErrorStrategy = keyof typeof ParallelErrorStrategy;

/** What `next` may name instead of a step. */
export const RETURN = "RETURN";
export const BREAK = "BREAK";

/** The construct that several entry steps make: a fork that no step stands for. */
export const ENTRY = "__entry__";

/** The types of steps. Each is also the prefix of the ids that have it. */
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

/** The types that call something outside: they have `in`, `out` and `onError`. */
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

/** The text before an id's first `_`; the whole id when it has none. */
export const prefixOf = (id: string): string => id.split("_", 1)[0] ?? id;

/**
 * The canonical type of a step or of a step's id: an explicit `type` wins over the id's prefix, and an
 * alias (`Fork`, `Check`, `Done`) stands for its type. `null` for a type that is none of ours.
 */
export function getStepType(step: string | { id: string; type?: string }): StepType | null {
  const name = typeof step === "string" ? prefixOf(step) : (step.type ?? prefixOf(step.id));
  if (Object.hasOwn(StepType, name)) return name as StepType;
  return Object.hasOwn(aliases, name) ? (aliases[name] as StepType) : null;
}

/**
 * What a step's id names: the id without its prefix, and without one group of digits that orders the
 * steps unless the name with it is a known one (`API_010_users` calls `users`).
 */
export function nameOf(id: string, known: readonly string[] = []): string {
  const rest = id.slice(prefixOf(id).length + 1);
  return known.includes(rest) ? rest : rest.replace(/^\d+_(?=.)/, "");
}

/** The sides of `provider/model`, either of which may be empty; null for a name without a slash. */
export function modelSides(model: string): [provider: string, name: string] | null {
  const at = model.indexOf("/");
  return at < 0 ? null : [model.slice(0, at).trim(), model.slice(at + 1).trim()];
}

/** The versions of the format that are understood: 3.0 to 3.18. */
export const SUPPORTED_VERSIONS: readonly string[] = Array.from(
  { length: 19 },
  (_, minor) => `3.${minor}`,
);

/** A version's minor number (`3.9` has 9); null when it is not supported. */
export function minorOf(version: unknown): number | null {
  const minor = SUPPORTED_VERSIONS.indexOf(String(version));
  return typeof version === "string" && minor >= 0 ? minor : null;
}

/** Whether a version is 3.10 or later, by number: `3.9` is not. */
export const isV310OrLater = (version: string): boolean => (minorOf(version) ?? 0) >= 10;

/** An error of a step workflow: its code, what is wrong, and what to do. */
export const failure = (
  code: string,
  message: string,
  hint: string,
  { cause, ...more }: { kind?: ErrorKind; details?: string[]; cause?: unknown } = {},
): WorkflowError => new WorkflowError({ code, message, hint, ...more }, { cause });

/** One error for several problems: the first is its message, and `details` has all. */
export function failures(code: string, problems: readonly string[], hint: string, what = "") {
  const { details, message } = foundProblems(problems);
  return failure(code, what + message, hint, { details });
}
