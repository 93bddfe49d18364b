import type { StepDocument, WorkflowDocument } from "../document/document.ts";
import { getStepType, type StepType } from "../document/step-type.ts";
import { literalPath, runsWorkflow } from "../outline/subflow.ts";

/** Which of the default adapters workflows use; `models` are the providers that their models may be of. */
export type Needed = {
  file: boolean;
  doc: boolean;
  api: boolean;
  tool: boolean;
  /** Whether a model is given tools. */
  modelTools: boolean;
  models: ("anthropic" | "openai")[];
};

/** What these workflows need, judged by their steps. What is computed may be anything. */
export function neededBy(documents: readonly WorkflowDocument[]): Needed {
  const steps = documents.flatMap((document) => document.steps);
  const calls = steps.filter((step) => !runsWorkflow(step));
  const typed = (type: StepType) => calls.filter((step) => getStepType(step) === type);
  const asking = typed("LLM");
  const has = (name: string) => asking.some((step) => inputsOf(step)[name] !== undefined);
  const providers = new Set(asking.flatMap(providersOf));
  return {
    file: steps.some(usesFiles),
    doc: has("docs"),
    api: typed("API").length > 0 || typed("Download").length > 0,
    tool: typed("Tool").length > 0,
    modelTools: has("tools"),
    models: (["anthropic", "openai"] as const).filter((name) => providers.has(name)),
  };
}

const fileTypes = new Set<string | null>(["Write", "Download", "Unzip"]);

function usesFiles(step: StepDocument): boolean {
  if (fileTypes.has(getStepType(step))) return true;
  if (runsWorkflow(step) && literalPath(step) === null) return true;
  const targets = typeof step.out === "string" ? [step.out] : Object.keys(step.out ?? {});
  return targets.some((target) => target.startsWith("/"));
}

const inputsOf = (step: StepDocument): Record<string, unknown> => step.in ?? step.input ?? {};

/** The providers whose models a step may call: one when it is written down, else both. */
function providersOf(step: StepDocument): Needed["models"] {
  const { provider = step.provider, model = step.model } = inputsOf(step);
  const name = literal(provider) ?? prefixOf(literal(model));
  if (name === "anthropic" || name === "openai") return [name];
  if (provider === undefined && /^claude\b/i.test(literal(model) ?? "")) return ["anthropic"];
  return ["anthropic", "openai"];
}

const literal = (value: unknown): string | null =>
  typeof value === "string" && !value.startsWith("=") ? value : null;

const prefixOf = (model: string | null): string | null =>
  model?.includes("/") ? (model.split("/", 1)[0] ?? null) : null;

const servedByPrograms = new Set<string | null>(["Service", "Component"]);

/** A warning for each step that only a program's own adapter can carry out: a file brings none along. */
export function unserved({ steps }: WorkflowDocument, file: string): string[] {
  return steps
    .filter((step) => servedByPrograms.has(getStepType(step)))
    .map((step) => {
      const name = String(getStepType(step)).toLowerCase();
      return `${file}: ${step.id}: a workflow added from a file has no adapter ${name}: build it with stepsBundle`;
    });
}
