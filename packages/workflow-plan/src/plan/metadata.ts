import type { PlanMetadata } from "./plan.ts";

/**
 * The keys of metadata that is learned while a plan is used. All other metadata belongs to the plan, and a person may
 * change it.
 */
const learnedKeys = [
  ...([
    "bundle",
    "draft",
    "last_run",
    "notices",
    "retry",
    "runs_without_log",
    "shares_name",
  ] as const),
];

const isLearned = (key: string): boolean => learnedKeys.some((one) => one === key);

const only = (metadata: PlanMetadata, holds: (key: string) => boolean): PlanMetadata =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => holds(key)));

/** Returns the metadata without its learned part. */
export const ownMetadata = (metadata: PlanMetadata = {}): PlanMetadata =>
  only(metadata, (key) => !isLearned(key));

/** Returns the metadata for a plan's new definition. Keeps the learned part and the owner. */
export function replacedMetadata(
  before: PlanMetadata = {},
  given: PlanMetadata = {},
): PlanMetadata {
  const { owner = given.owner } = before;
  return { ...ownMetadata(given), ...only(before, isLearned), ...(owner && { owner }) };
}
