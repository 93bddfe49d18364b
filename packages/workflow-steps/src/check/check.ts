import { isWorkflowError } from "@uncaged/workflow";
import { minorOf, SUPPORTED_VERSIONS } from "../document/document.ts";
import { itemsOf, quoted, shown, showPath, violationsOf } from "../document/form.ts";
import { documentForm } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import {
  type Declaration,
  isKnownType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
} from "../document/registry.ts";
import { hasGoodExpressions, hasGoodTargets } from "./expression.ts";
import { fieldRules } from "./field.ts";
import { flowRules, hasNext, namesEachChildOnce, namesStepsThatExist } from "./flow.ts";
import {
  type CheckOptions,
  declaring,
  type DocumentRule,
  nameIn,
  type StepRule,
  subjectOf,
  type Violation,
} from "./subject.ts";

const oldest = SUPPORTED_VERSIONS[0] ?? "";
const newest = SUPPORTED_VERSIONS.at(-1) ?? "";

const hasSupportedVersion: DocumentRule = ({ document: { version }, error }) => {
  if (version === undefined) {
    error([], `version is missing: give one from "${oldest}" to "${newest}"`);
  } else if (typeof version !== "string") {
    error(["version"], `version must be a string such as "${newest}", not ${shown(version)}`);
  } else if (minorOf(version) === null) {
    const known = `use "${oldest}" to "${newest}"`;
    error(["version"], `version ${shown(version)} is not supported: ${known}`);
  }
};

const hasFields: DocumentRule = ({ document, error }) => {
  for (const { path, text } of violationsOf(documentForm, document, [])) error(path, text);
};

const hasNoServiceInIDE: DocumentRule = ({ document, registry, steps, error }) => {
  if (document.workflowType !== "IDE") return;
  if (itemsOf(registry.services).length > 0) {
    error(["registry", "services"], "a workflow of the type IDE can't declare services");
  }
  for (const step of steps) {
    if (step.type === "Service") step.error([], "a workflow of the type IDE can't call services");
  }
};

/** Readers for the registry lists whose texts declare names. */
const readers: Readonly<Record<string, (text: string) => Pick<Declaration, "name" | "type">[]>> = {
  params: (text) => [parseParamDeclaration(text)],
  vars: (text) => [parseVariableDeclaration(text)],
  services(text) {
    const { params, returns } = parseServiceSignature(text);
    return [...params, ...returns];
  },
};

const declarationsCanBeRead: DocumentRule = ({ registry, error, warning }) => {
  for (const field of ["params", "vars", "services"] as const) {
    for (const [index, text] of itemsOf(registry[field]).entries()) {
      if (typeof text !== "string") continue;
      const path = ["registry", field, index];
      try {
        for (const { name, type } of readers[field]?.(text) ?? []) {
          if (isKnownType(type)) continue;
          const what = `the type ${quoted(type)} of ${quoted(name)} is unknown`;
          warning(path, `${showPath(path)}: ${what}, so its values are not checked`);
        }
      } catch (thrown) {
        if (!isWorkflowError(thrown)) throw thrown;
        error(path, `${showPath(path)}: ${thrown.message}`);
      }
    }
  }
};

const namesAreUnique: DocumentRule = ({ registry, error }) => {
  for (const field of declaring) {
    const seen = new Set<string>();
    for (const [index, declaration] of itemsOf(registry[field]).entries()) {
      for (const name of nameIn(declaration)) {
        const path = ["registry", field, index];
        if (seen.has(name)) error(path, `${showPath(path)}: ${quoted(name)} is declared twice`);
        seen.add(name);
      }
    }
  }
};

const idsAreUnique: DocumentRule = ({ steps }) => {
  const first = new Map<string, number>();
  for (const { id, index, error } of steps) {
    if (id === null) continue;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    else error(["id"], `steps[${earlier}] has the same id`);
  }
};

const documentRules: readonly DocumentRule[] = [
  hasSupportedVersion,
  hasFields,
  hasNoServiceInIDE,
  declarationsCanBeRead,
  namesAreUnique,
];

const stepRules: readonly StepRule[] = [
  ...fieldRules,
  namesStepsThatExist,
  namesEachChildOnce,
  hasGoodTargets,
  hasGoodExpressions,
  hasNext,
];

/**
 * Returns all errors and warnings of a document in one list: the document itself, its registry, its steps one by one,
 * then their connections. Never throws, for any value. A document is valid when no violation is an error.
 */
export function validate(document: unknown, options: CheckOptions = {}): Violation[] {
  const violations: Violation[] = [];
  if (!isPlain(document)) {
    const message = `a workflow must be an object, not ${shown(document)}`;
    return [{ severity: "error", stepID: null, path: [], message }];
  }
  const subject = subjectOf(document, options, violations);
  for (const rule of documentRules) rule(subject);
  for (const step of subject.steps) for (const rule of stepRules) rule(step, subject);
  for (const rule of [idsAreUnique, ...flowRules]) rule(subject);
  return violations;
}
