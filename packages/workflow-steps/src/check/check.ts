import { callsWhatIsDeclared, hasModelName, hasOneSchema, hasSource } from "./call.ts";
import { hasElseLast, hasTarget, loopsOverOneThing } from "./construct.ts";
import { documentRules } from "./document.ts";
import { hasGoodExpressions } from "./expression.ts";
import { type Fault, shown } from "./fault.ts";
import { isInItsVersion } from "./feature.ts";
import { hasItsFields, hasNoIdleField } from "./fields.ts";
import { flowRules, hasNext } from "./flow.ts";
import { isRecord } from "./form.ts";
import { identityRules, idsAreUnique } from "./identity.ts";
import { tellsSourcesWrittenInLoops } from "./loop-source.ts";
import {
  breaksAreInLoops,
  constructsDoNotContainThemselves,
  namesEachChildOnce,
  namesStepsThatExist,
} from "./reference.ts";
import { registryRules } from "./registry.ts";
import { type DocumentRule, type StepRule, subjectOf } from "./subject.ts";
import { hasGoodTargets } from "./target.ts";

const stepRules: readonly StepRule[] = [
  ...identityRules,
  hasItsFields,
  hasNoIdleField,
  isInItsVersion,
  namesStepsThatExist,
  namesEachChildOnce,
  loopsOverOneThing,
  hasElseLast,
  hasTarget,
  callsWhatIsDeclared,
  hasModelName,
  hasOneSchema,
  hasSource,
  hasGoodTargets,
  hasGoodExpressions,
  hasNext,
];

const wholeRules: readonly DocumentRule[] = [
  idsAreUnique,
  breaksAreInLoops,
  constructsDoNotContainThemselves,
  ...flowRules,
  tellsSourcesWrittenInLoops,
];

/**
 * Everything that is wrong with a document, and what may be meant otherwise, in one list: the document
 * itself, its registry, its steps one by one, then how they hang together. None of it is thrown, whatever
 * the document is. It is valid when no fault is an error.
 *
 * @param customTypes The prefixes that the caller has handlers for.
 * @example validate({ version: "4.0", name: "n", registry: {}, steps })
 */
export function validate(
  document: unknown,
  { customTypes = [] }: { customTypes?: Iterable<string> } = {},
): Fault[] {
  const faults: Fault[] = [];
  if (!isRecord(document)) {
    const message = `a workflow must be an object, not ${shown(document)}`;
    return [{ severity: "error", stepID: null, path: [], message }];
  }
  const subject = subjectOf(document, new Set(customTypes), faults);
  for (const rule of [...documentRules, ...registryRules]) rule(subject);
  for (const step of subject.steps) for (const rule of stepRules) rule(step, subject);
  for (const rule of wholeRules) rule(subject);
  return faults;
}
