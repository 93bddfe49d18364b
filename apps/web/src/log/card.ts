import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import type { Activity } from "../activity/activity.ts";

/** One step as the reader sees it: what it committed, and what happened inside of it. */
export type Card = {
  /** Stays the same from the first event on. */
  readonly key: string;
  /** Null until it is committed. */
  step: NumberedStep | null;
  activity: Activity | null;
  /** When it began, as far as that is known; milliseconds since the epoch. */
  beganAt: number | null;
  /** Counts its changes, for who shows it. */
  version: number;
};

/** The role of a card, also of one that is not committed yet: `coder#2` is the second step of `coder`. */
export const roleOf = ({ step, activity }: Card): string =>
  step?.role ?? (activity?.stepID ?? "").replace(/#\d+$/, "");

/** How long a committed step took, in milliseconds; null when that is not known. */
export function durationOf({ step, beganAt }: Card): number | null {
  if (!step || beganAt === null || step.timestamp < beganAt) return null;
  return step.timestamp - beganAt;
}
