import { foundProblems } from "@uncaged/workflow/interpreter";
import { basename } from "node:path";
import {
  type DocumentPath,
  entryFiles,
  locatedProblems,
  type Position,
  readDocument,
} from "@uncaged/workflow/document";
import { checkPlan, metadataProblems } from "../check/check.ts";
import { placed } from "../layout/layout.ts";
import { ownMetadata } from "../plan/metadata.ts";
import type { PlanMetadata, PlannerOutput, PlanStep, Workflow } from "../plan/plan.ts";
import { newWorkflow, type Origin } from "../planner/workflow.ts";
import { invalidPlan } from "../planner/errors.ts";

/** A kind of source for `addWorkflow` and `buildSource` of `@uncaged/workflow/host`. */
export type PlanSource = {
  matches(file: string): boolean;
  recognizes(text: string, file: string): boolean;
  module(
    text: string,
    file: string,
  ): Promise<{ code: string; resolve: Record<string, string>; roles: Record<string, Position> }>;
};

/**
 * Makes plans usable as sources of bundles: `.json`, `.yaml` and `.yml` files with an object that has `steps`, and a
 * `trigger` or a `failure_policy`. The object is a model's output, or a whole plan. `warn` receives each warning of the
 * check, with file, line and column.
 */
export function planSource(warn: (warning: string) => void): PlanSource {
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    recognizes: isPlan,
    async module(text, file) {
      const { plan, metadata, positionOf } = readPlan(text, file, warn);
      if (plan.trigger.type !== "manual") warn(unfired(file, plan.trigger.type));
      const roles = plan.steps.map(({ id }, n) => [id, positionOf(["steps", n, "id"])] as const);
      const whole = { ...plan, steps: placed(plan.steps), ...(metadata && { metadata }) };
      return { code: moduleCode(whole), resolve: ownFiles(), roles: Object.fromEntries(roles) };
    },
  };
}

const unfired = (file: string, type: string): string =>
  `${basename(file)}: trigger: a workflow is started by hand, so its ${type} trigger does not fire; let it fire: uncaged-workflow plan new --file ${basename(file)}`;

/**
 * Reads and checks a plan in a file. `warn` receives each warning, with file, line and column.
 * @throws PlannerError
 */
export function readPlan(
  text: string,
  file: string,
  warn: (warning: string) => void,
): { plan: PlannerOutput; metadata?: PlanMetadata; positionOf: (path: DocumentPath) => Position } {
  const { document, positionOf } = readDocument(text, file, "PLANNER_ERROR");
  const { errors: wrong, plan, warnings } = checkPlan(document);
  const errors = [...wrong, ...metadataProblems(document)];
  if (plan === null || errors.length > 0) {
    const { details, message } = foundProblems(locatedProblems(errors, file, positionOf));
    throw invalidPlan(message, details);
  }
  for (const warning of locatedProblems(warnings, file, positionOf)) warn(warning);
  return { plan, positionOf, ...metadataIn(document) };
}

/**
 * Returns the plan in a file with the framework's additions. The plan waits for its confirmation.
 * @throws PlannerError
 */
export function workflowIn(
  text: string,
  file: string,
  origin: Origin & { warn: (warning: string) => void },
): Workflow {
  const { metadata, plan } = readPlan(text, file, origin.warn);
  return newWorkflow(plan, {
    ...origin,
    metadata: { ...origin.metadata, ...ownMetadata(metadata) },
  });
}

/** Tells whether a text is a plan, valid or not. False for an unreadable text. */
export function isPlan(text: string, file: string): boolean {
  try {
    const { document } = readDocument(text, file);
    if (typeof document !== "object" || document === null) return false;
    return "steps" in document && ("failure_policy" in document || "trigger" in document);
  } catch {
    return false;
  }
}

function metadataIn(document: unknown): Pick<Workflow, "metadata"> {
  const { metadata } = document as Partial<Workflow>;
  return typeof metadata === "object" && metadata !== null ? { metadata } : {};
}

const packageName = "@uncaged/workflow-plan";

const ownFiles = () => entryFiles(import.meta, [packageName]);

/**
 * Returns the source of a plan's bundle. Equal definitions have equal sources, regardless of phase and times, so that
 * the hash of a source identifies the definition.
 */
export function moduleCode(plan: PlannerOutput & Pick<Workflow, "metadata">): string {
  const { description, failure_policy, metadata, name, steps } = plan;
  const { container, cwd, sandbox } = metadata ?? {};
  const run = {
    ...(cwd !== undefined && { cwd }),
    ...(container && { container }),
    ...(sandbox !== undefined && { sandbox }),
  };
  const definition = {
    ...{ name, description, steps: steps.map(inOrder), failure_policy },
    ...(Object.keys(run).length > 0 && { metadata: run }),
  };
  return [
    `import { planBundle } from ${JSON.stringify(packageName)};`,
    // Embed the plan as text: an object literal would interpret `__proto__`, and takes longer to parse.
    `const plan = JSON.parse(${JSON.stringify(JSON.stringify(definition))});`,
    "export const { run, descriptor } = planBundle(plan);",
    "",
  ].join("\n");
}

const inOrder = ({
  agent,
  depends_on,
  description,
  expected_output,
  id,
  inputs,
  position,
}: PlanStep) => ({
  ...{ id, description, ...(expected_output !== undefined && { expected_output }) },
  ...{ agent, inputs, depends_on, ...(position && { position }) },
});
