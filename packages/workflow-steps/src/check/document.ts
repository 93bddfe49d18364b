import { minorOf, SUPPORTED_VERSIONS } from "../document/version.ts";
import { shown } from "./fault.ts";
import { documentFields } from "./field.ts";
import { itemsOf, misfitsIn } from "./form.ts";
import type { DocumentRule, Subject } from "./subject.ts";

const first = SUPPORTED_VERSIONS[0] ?? "";
const last = SUPPORTED_VERSIONS.at(-1) ?? "";

/** The rules for a document's own fields, its steps' apart. */
export const documentRules: readonly DocumentRule[] = [
  hasSupportedVersion,
  hasFields,
  hasStepObjects,
  hasNoServiceInIDE,
];

function hasSupportedVersion({ document: { version }, error }: Subject): void {
  if (version === undefined) error([], `version is missing: give one from "${first}" to "${last}"`);
  else if (typeof version !== "string") {
    error(["version"], `version must be a text such as "${last}", not ${shown(version)}`);
  } else if (minorOf(version) === null) {
    error(["version"], `version ${shown(version)} is not supported: "${first}" to "${last}" are`);
  }
}

function hasFields({ document, error }: Subject): void {
  const { version: _, ...others } = documentFields;
  const required = ["name", "registry", "steps"];
  const form = { type: "object", properties: others, required } as const;
  for (const { path, text } of misfitsIn(form, document, [])) error(path, text);
}

function hasStepObjects({ document, error }: Subject): void {
  for (const [index, step] of itemsOf(document.steps).entries()) {
    const form = { type: "object", expected: "a step" } as const;
    for (const { path, text } of misfitsIn(form, step, ["steps", index])) error(path, text);
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
