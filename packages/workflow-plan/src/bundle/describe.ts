import type { Descriptor } from "@uncaged/workflow";
import { cut } from "../plan/cut.ts";
import type { PlanDefinition } from "../plan/definition.ts";

const maxRounds = 10_000;

// Longest plan in a descriptor, in characters of JSON. A whole descriptor is limited to 1 Mi characters.
const longestPlan = 512 * 1024;
const longestText = 2000;

/**
 * The descriptor of a plan's bundle. `document` is the plan as JSON, or null if the JSON is too long for a descriptor.
 */
export type PlanDescriptor = Descriptor & { plan: { document: string | null } };

/** Returns the descriptor of a plan's bundle: a role for each step, and the plan itself. */
export function describePlan(plan: PlanDefinition): PlanDescriptor {
  const roles = plan.steps.map(({ description, id }) => {
    return [id, { description: cut(description, longestText), schema: true }];
  });
  const text = JSON.stringify(plan);
  return {
    description: plan.name,
    maxRounds,
    // Subtasks are roles too, but are not known yet.
    strict: false,
    roles: Object.fromEntries(roles) as Descriptor["roles"],
    plan: { document: text.length > longestPlan ? null : text },
  };
}

/**
 * Returns the plan in a descriptor; null if the plan is too long for a descriptor, undefined if the bundle was not made
 * from a plan.
 */
export function planIn(descriptor: object): PlanDefinition | null | undefined {
  const mark = "plan" in descriptor ? descriptor.plan : undefined;
  if (typeof mark !== "object" || mark === null || !("document" in mark)) return undefined;
  return typeof mark.document === "string" ? (JSON.parse(mark.document) as PlanDefinition) : null;
}
