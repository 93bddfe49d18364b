import { documentFields, fields, hasField, isField } from "../document/format.ts";
import { minorOf, type StepType, SUPPORTED_VERSIONS } from "../document/document.ts";
import { itemsOf, shown, showPath, violationsOf } from "../document/form.ts";
import {
  aStep,
  type CheckedStep,
  type DocumentRule,
  type StepRule,
  type Subject,
} from "./subject.ts";

/** The fields of a step have the form that its type asks for, and none is missing. */
export const hasItsFields: StepRule = ({ type, fields: given, error }) => {
  if (type === null) return;
  for (const { name, form, isRequired, on } of fields) {
    if (!on.has(type)) continue;
    const value = given[name];
    if (value !== undefined) {
      for (const { path, text } of violationsOf(form, value, [name])) error(path, text);
    } else if (isRequired) error([], `${showPath([name])} is missing: ${aStep(type)} needs it`);
  }
};

/** A field that steps of this type do not have has no effect. */
export const hasNoIdleField: StepRule = ({ type, fields: given, error, warning }) => {
  if (type === null) return;
  for (const name of Object.keys(given)) {
    if (hasField(type, name) || !isField(name)) continue;
    if (type !== "Stop") warning([name], `${name} has no effect on ${aStep(type)}`);
    else if (name === "next" || name === "children") {
      error([name], `a Stop ends the run, so it has no ${name}`);
    } else warning([name], `${name} has no effect on a Stop`);
  }
  if (given.in !== undefined && given.input !== undefined && hasField(type, "in")) {
    warning(["input"], "input has no effect beside in");
  }
};

const oldest = SUPPORTED_VERSIONS[0] ?? "";
const newest = SUPPORTED_VERSIONS.at(-1) ?? "";

/** The rules for a document's own fields, its steps' apart. */
export const documentRules: readonly DocumentRule[] = [
  hasSupportedVersion,
  hasFields,
  hasStepObjects,
  hasNoServiceInIDE,
];

function hasSupportedVersion({ document: { version }, error }: Subject): void {
  if (version === undefined)
    error([], `version is missing: give one from "${oldest}" to "${newest}"`);
  else if (typeof version !== "string") {
    error(["version"], `version must be a text such as "${newest}", not ${shown(version)}`);
  } else if (minorOf(version) === null) {
    error(
      ["version"],
      `version ${shown(version)} is not supported: "${oldest}" to "${newest}" are`,
    );
  }
}

function hasFields({ document, error }: Subject): void {
  const { version: _, ...others } = documentFields;
  const required = ["name", "registry", "steps"];
  const form = { type: "object", properties: others, required } as const;
  for (const { path, text } of violationsOf(form, document, [])) error(path, text);
}

function hasStepObjects({ document, error }: Subject): void {
  for (const [index, step] of itemsOf(document.steps).entries()) {
    const form = { type: "object", expected: "a step" } as const;
    for (const { path, text } of violationsOf(form, step, ["steps", index])) error(path, text);
  }
}

function hasNoServiceInIDE({ document, registry, steps, error }: Subject): void {
  if (document.workflowType !== "IDE") return;
  if (itemsOf(registry.services).length > 0) {
    error(["registry", "services"], "a workflow of the type IDE has no services");
  }
  for (const step of steps) {
    if (step.type === "Service") step.error([], "a workflow of the type IDE calls no service");
  }
}

/** The versions, by their minor numbers, that first had a type of steps. */
const since: Partial<Record<StepType, number>> = { Tool: 17, Subflow: 17 };

/** A document declares a version that has what it uses. The version changes nothing else. */
export function isInItsVersion({ type, warning }: CheckedStep, { document }: Subject): void {
  const declared = minorOf(document.version);
  if (type === null || type === "custom") return;
  const first = since[type];
  if (declared === null || first === undefined || declared >= first) return;
  warning([], `${aStep(type)} is of version 3.${first}, and the workflow says 3.${declared}`);
}
