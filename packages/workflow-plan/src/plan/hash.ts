import { createHash } from "node:crypto";
import type { Workflow } from "./plan.ts";

/**
 * The hash of what a user confirms: all of a plan that decides what happens when. It is the same for the same plan, so a
 * confirmation names by it the plan that was shown.
 */
export function planHash({
  description,
  failure_policy,
  metadata,
  name,
  steps,
  trigger,
}: Workflow): string {
  const { container, cwd, fire_on_first_check, missed_slots, sandbox } = metadata ?? {};
  const confirmed = {
    ...{ description, failure_policy, name, trigger },
    steps: steps.map((step) => ({ ...step, position: undefined })),
    ...{ container, cwd, fire_on_first_check, missed_slots, sandbox },
  };
  return createHash("sha256")
    .update(JSON.stringify(ordered(confirmed)))
    .digest("hex");
}

/** A JSON value whose objects have their keys in order: a database may give them in another. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, ordered(one)]));
}
