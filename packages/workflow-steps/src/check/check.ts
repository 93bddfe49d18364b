import { minorOf, SUPPORTED_VERSIONS } from "../document/document.ts";
import { itemsOf, shown, violationsOf } from "../document/form.ts";
import { documentForm } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { hasGoodExpressions, hasGoodTargets } from "./expression.ts";
import { fieldRules } from "./field.ts";
import { flowRules, hasNext, namesEachChildOnce, namesStepsThatExist } from "./flow.ts";
import { callsWhatIsDeclared, registryRules } from "./registry.ts";
import { type DocumentRule, type StepRule, subjectOf, type Violation } from "./subject.ts";

const oldest = SUPPORTED_VERSIONS[0] ?? "";
const newest = SUPPORTED_VERSIONS.at(-1) ?? "";

const hasSupportedVersion: DocumentRule = ({ document: { version }, error }) => {
  if (version === undefined) {
    error([], `version is missing: give one from "${oldest}" to "${newest}"`);
  } else if (typeof version !== "string") {
    error(["version"], `version must be a text such as "${newest}", not ${shown(version)}`);
  } else if (minorOf(version) === null) {
    const known = `"${oldest}" to "${newest}" are`;
    error(["version"], `version ${shown(version)} is not supported: ${known}`);
  }
};

const hasFields: DocumentRule = ({ document, error }) => {
  for (const { path, text } of violationsOf(documentForm, document, [])) error(path, text);
};

const hasNoServiceInIDE: DocumentRule = ({ document, registry, steps, error }) => {
  if (document.workflowType !== "IDE") return;
  if (itemsOf(registry.services).length > 0) {
    error(["registry", "services"], "a workflow of the type IDE has no services");
  }
  for (const step of steps) {
    if (step.type === "Service") step.error([], "a workflow of the type IDE calls no service");
  }
};

const idsAreUnique: DocumentRule = ({ steps }) => {
  const first = new Map<string, number>();
  for (const { id, index, error } of steps) {
    if (id === null) continue;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    else error(["id"], `this id has been given to steps[${earlier}] already`);
  }
};

const documentRules: readonly DocumentRule[] = [
  hasSupportedVersion,
  hasFields,
  hasNoServiceInIDE,
  ...registryRules,
];

const stepRules: readonly StepRule[] = [
  ...fieldRules,
  namesStepsThatExist,
  namesEachChildOnce,
  callsWhatIsDeclared,
  hasGoodTargets,
  hasGoodExpressions,
  hasNext,
];

/**
 * Everything that is wrong with a document, and what may be meant otherwise, in one list: the document
 * itself, its registry, its steps one by one, then how they hang together. None of it is thrown, whatever
 * the document is. It is valid when no violation is an error. `customTypes` are the prefixes that the
 * caller has handlers for.
 */
export function validate(
  document: unknown,
  { customTypes = [] }: { customTypes?: Iterable<string> } = {},
): Violation[] {
  const violations: Violation[] = [];
  if (!isPlain(document)) {
    const message = `a workflow must be an object, not ${shown(document)}`;
    return [{ severity: "error", stepID: null, path: [], message }];
  }
  const subject = subjectOf(document, new Set(customTypes), violations);
  for (const rule of documentRules) rule(subject);
  for (const step of subject.steps) for (const rule of stepRules) rule(step, subject);
  for (const rule of [idsAreUnique, ...flowRules]) rule(subject);
  return violations;
}
