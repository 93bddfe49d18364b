import type { StepDocument } from "../document/document.ts";
import { getStepType } from "../document/step-type.ts";
import { evaluate, namesIn } from "../expression/expression.ts";

/** The name of the input that says which workflow a step runs. */
export const pathInput = "workflow_path";

/** Whether a step runs another workflow. */
export function runsWorkflow(step: StepDocument): boolean {
  const type = getStepType(step);
  if (type !== "Tool") return type === "Subflow";
  const name = step.tool ?? step.toolName;
  return name === undefined ? /^[^_]*_(\d+_)?WorkflowRun$/.test(step.id) : name === "WorkflowRun";
}

/** The path that a step always runs: a text, or an expression without a name. Null when it is computed. */
export function literalPath({ in: inputs, input }: StepDocument): string | null {
  const path = (inputs ?? input)?.[pathInput];
  if (typeof path !== "string" || path === "") return null;
  if (!path.startsWith("=")) return path;
  if (path.startsWith("==")) return path.slice(1);
  const source = path.slice(1);
  if (namesIn(source).length > 0) return null;
  return constantText(source);
}

// An expression without a value fails when its step runs, and not before.
function constantText(source: string): string | null {
  try {
    const value = evaluate(source, () => undefined);
    return typeof value === "string" && value !== "" ? value : null;
  } catch {
    return null;
  }
}

/** The step with another path in its input. */
export function withPath(step: StepDocument, path: string): StepDocument {
  const field = step.in === undefined ? "input" : "in";
  const literal = path.startsWith("=") ? `=${path}` : path;
  return { ...step, [field]: { ...step[field], [pathInput]: literal } };
}
