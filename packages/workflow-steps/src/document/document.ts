import { type ErrorKind, WorkflowError } from "@uncaged/workflow";

/** Whom a workflow is made for. `IDE` forbids services. */
export const WorkflowType = {
  IDE: "IDE",
  Business: "Business",
  Approval: "Approval",
  Local: "Local",
} as const;
export type WorkflowType = (typeof WorkflowType)[keyof typeof WorkflowType];

/** The states of a run. */
export const ExecutionStatus = {
  running: "running",
  completed: "completed",
  failed: "failed",
  stopped: "stopped",
  paused: "paused",
  cancelled: "cancelled",
} as const;
export type ExecutionStatus = (typeof ExecutionStatus)[keyof typeof ExecutionStatus];

/** How a Write treats a file that is there. */
export const WriteMode = {
  overwrite: "overwrite",
  failIfExists: "failIfExists",
  append: "append",
  prepend: "prepend",
} as const;
export type WriteMode = (typeof WriteMode)[keyof typeof WriteMode];

/** Whether a loop's iterations run one after the other or concurrently. */
export const LoopMode = { serial: "serial", parallel: "parallel" } as const;
export type LoopMode = (typeof LoopMode)[keyof typeof LoopMode];

/**
 * What becomes of a fork when a child fails: the siblings are aborted and the run fails; the child is
 * dropped; or all end and then the run fails with every error.
 */
export const ParallelErrorStrategy = {
  fail_fast: "fail_fast",
  continue: "continue",
  collect: "collect",
} as const;
export type ParallelErrorStrategy =
  (typeof ParallelErrorStrategy)[keyof typeof ParallelErrorStrategy];

/** What `next` may name instead of a step. */
export const RETURN = "RETURN";
export const BREAK = "BREAK";

/** The construct that several entry steps make: a fork that no step stands for. */
export const ENTRY = "__entry__";

/** The types of steps. Each is also the prefix of the ids that have it. */
export const StepType = {
  Service: "Service",
  API: "API",
  Component: "Component",
  LLM: "LLM",
  Set: "Set",
  Write: "Write",
  Download: "Download",
  Unzip: "Unzip",
  Pause: "Pause",
  Branch: "Branch",
  Loop: "Loop",
  Stop: "Stop",
  Noop: "Noop",
  Tool: "Tool",
  Subflow: "Subflow",
} as const;
export type StepType = (typeof StepType)[keyof typeof StepType];

/** Other names of types. */
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
export function prefixOf(id: string): string {
  const end = id.indexOf("_");
  return end < 0 ? id : id.slice(0, end);
}

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
  if (known.includes(rest)) return rest;
  return rest.replace(/^\d+_(?=.)/, "");
}

const lastMinor = 18;

/** The versions of the format that are understood: 3.0 to 3.18. */
export const SUPPORTED_VERSIONS: readonly string[] = Array.from(
  { length: lastMinor + 1 },
  (_, minor) => `3.${minor}`,
);

/** A version's minor number (`3.9` has 9); null when it is not supported. */
export function minorOf(version: unknown): number | null {
  if (typeof version !== "string" || !SUPPORTED_VERSIONS.includes(version)) return null;
  return Number(version.slice(2));
}

/** Whether a version is 3.10 or later, by number: `3.9` is not. */
export const isV310OrLater = (version: string): boolean => (minorOf(version) ?? 0) >= 10;

/** An error of a step workflow: its code, what is wrong, and what to do. */
export const failure = (
  code: string,
  message: string,
  hint: string,
  { kind = "failed", ...more }: { kind?: ErrorKind; details?: string[] } = {},
): WorkflowError => new WorkflowError({ code, kind, message, hint, ...more });
