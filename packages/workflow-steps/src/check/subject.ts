import { CUSTOM } from "../document/format.ts";
import { itemsOf, own, quoted, type ViolationPath } from "../document/form.ts";
import { isPlain } from "../expression/value.ts";
import { getStepType, type StepType } from "../document/document.ts";
import type { RegistryDocument } from "../document/format.ts";
import { type Outline, outlineOf } from "../outline/outline.ts";

/** A step as the rules see it. Its report's paths begin at the step. */
export type CheckedStep = Report & {
  /** Null when it has none that a rule could use. */
  id: string | null;
  /** Its canonical type, `custom` for one of the caller's own, null for none. */
  type: StepType | typeof CUSTOM | null;
  fields: Readonly<Record<string, unknown>>;
  index: number;
};

/** A document as the rules see it: anything, with what could be made out. */
export type Subject = Report & {
  document: Readonly<Record<string, unknown>>;
  registry: RegistryFields;
  declared: Declared;
  steps: readonly CheckedStep[];
  outline: Outline;
};

/** A registry's fields, whatever they are. */
type RegistryFields = Readonly<Partial<Record<keyof RegistryDocument, unknown>>>;

/** Looks at one step. Must not throw, whatever the step is. */
export type StepRule = (step: CheckedStep, subject: Subject) => void;

/** Looks at a document as a whole. Must not throw, whatever it is. */
export type DocumentRule = (subject: Subject) => void;

/** What the rules are given of a document. */
export function subjectOf(
  document: Readonly<Record<string, unknown>>,
  customTypes: ReadonlySet<string>,
  violations: Violation[],
): Subject {
  const registry: RegistryFields = isPlain(document.registry) ? document.registry : {};
  return {
    ...reportTo(violations),
    document,
    registry,
    declared: declaredIn(registry),
    steps: itemsOf(document.steps).flatMap((step, index) =>
      isPlain(step) ? checkedStep(step, index, customTypes, violations) : [],
    ),
    outline: outlineOf(document),
  };
}

function checkedStep(
  fields: Readonly<Record<string, unknown>>,
  index: number,
  customTypes: ReadonlySet<string>,
  violations: Violation[],
): CheckedStep {
  const given = own(fields, "id");
  const id = typeof given === "string" && given !== "" ? given : null;
  const report = reportTo(violations, ["steps", index], id, id ?? `steps[${index}]`);
  return { ...report, id, type: typeOf(fields, id, customTypes), fields, index };
}

function typeOf(
  { type }: Readonly<Record<string, unknown>>,
  id: string | null,
  customTypes: ReadonlySet<string>,
): CheckedStep["type"] {
  if (id === null || (type !== undefined && typeof type !== "string")) return null;
  const name = type ?? id.split("_", 1)[0] ?? id;
  return getStepType({ id, type }) ?? (customTypes.has(name) ? CUSTOM : null);
}

/** A type in a sentence: "a Tool", "an LLM". */
export const aStep = (type: string): string => `${/^([AIOU]|LLM)/.test(type) ? "an" : "a"} ${type}`;

/**
 * What is wrong with a document, or (a warning) may be meant otherwise. `message` is one line and begins
 * with the step's id where there is one; `path` leads from the document to it.
 */
export type Violation = {
  severity: "error" | "warning";
  stepID: string | null;
  path: (string | number)[];
  message: string;
};

/** Where violations are reported. */
type Report = {
  error: (path: ViolationPath, text: string) => void;
  warning: (path: ViolationPath, text: string) => void;
};

/** A report that adds to `violations`. Its paths begin at `home`; `label` is what a message begins with. */
function reportTo(
  violations: Violation[],
  home: ViolationPath = [],
  stepID: string | null = null,
  label: string | null = stepID,
): Report {
  const add = (severity: Violation["severity"], path: ViolationPath, text: string) => {
    const line = text.replace(/[\p{Cc}\u2028\u2029]/gu, "?");
    const message = label === null ? line : `${labelOf(label)}: ${line}`;
    violations.push({ severity, stepID, path: [...home, ...path], message });
  };
  return {
    error: (path, text) => add("error", path, text),
    warning: (path, text) => add("warning", path, text),
  };
}

function labelOf(label: string): string {
  const isPlain = label.length <= 200 && !/[\p{Cc}\u2028\u2029]/u.test(label);
  return isPlain ? label.toWellFormed() : quoted(label);
}

/** The names that a registry declares; `$` belongs to a variable's name. */
type Declared = Readonly<
  Record<"params" | "vars" | "services" | "apis" | "components" | "schemas", ReadonlySet<string>>
>;

/**
 * What a registry declares, read as far as it goes: a declaration that is wrong has a name all the same,
 * so that its uses are no violations too.
 */
function declaredIn(registry: Partial<Record<keyof RegistryDocument, unknown>>): Declared {
  const names = (list: unknown): ReadonlySet<string> => new Set(itemsOf(list).flatMap(nameIn));
  return {
    params: names(registry.params),
    vars: names(registry.vars),
    services: names(registry.services),
    apis: names(registry.apis),
    components: names(registry.components),
    schemas: new Set(isPlain(registry.schemas) ? Object.keys(registry.schemas) : []),
  };
}

/** The name of a declaration, of a signature, or of an object with an id. */
export function nameIn(declaration: unknown): string[] {
  const text = typeof declaration === "string" ? declaration : own(declaration, "id");
  const name = typeof text === "string" ? (text.split(/[(=]/, 1)[0] ?? "").trim() : "";
  return name === "" ? [] : [name];
}
