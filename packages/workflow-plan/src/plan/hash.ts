import { createHash } from "node:crypto";
import type { Workflow } from "./plan.ts";

/**
 * Returns the hash of the confirmed part of a plan: everything that decides its actions and their time. A confirmation
 * identifies the shown plan by this hash.
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

/** Sorts the keys of objects in a JSON value, because a database may return them in another order. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, ordered(one)]));
}
