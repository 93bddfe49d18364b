import type { StepDocument } from "./document.ts";

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
export function getStepType(step: string | Pick<StepDocument, "id" | "type">): StepType | null {
  const name = typeof step === "string" ? prefixOf(step) : (step.type ?? prefixOf(step.id));
  if (Object.hasOwn(StepType, name)) return name as StepType;
  return Object.hasOwn(aliases, name) ? (aliases[name] as StepType) : null;
}
