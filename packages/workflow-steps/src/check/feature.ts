import type { StepType } from "../document/step-type.ts";
import { minorOf } from "../document/version.ts";
import { aStep, type CheckedStep, type Subject } from "./subject.ts";

/** The versions, by their minor numbers, that first had a type of steps. */
const since: Partial<Record<StepType, number>> = { Tool: 17, Subflow: 17 };

/** A document says a version that has what it uses. The version changes nothing else. */
export function isInItsVersion({ type, warning }: CheckedStep, { document }: Subject): void {
  const declared = minorOf(document.version);
  if (type === null || type === "custom") return;
  const first = since[type];
  if (declared === null || first === undefined || declared >= first) return;
  warning([], `${aStep(type)} is of version 3.${first}, and the workflow says 3.${declared}`);
}
