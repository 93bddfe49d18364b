import type { PlanMetadata } from "./plan.ts";

/** What is learned of a plan while it is used; all other metadata a plan brings with itself, and a person may change. */
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

/** The metadata that a plan brings with itself. */
export const ownMetadata = (metadata: PlanMetadata = {}): PlanMetadata =>
  only(metadata, (key) => !isLearned(key));

/** The metadata of a plan whose definition is replaced: what was learned stays, and so does its owner. */
export function replacedMetadata(
  before: PlanMetadata = {},
  given: PlanMetadata = {},
): PlanMetadata {
  const { owner = given.owner } = before;
  return { ...ownMetadata(given), ...only(before, isLearned), ...(owner && { owner }) };
}
