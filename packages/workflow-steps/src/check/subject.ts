import type { RegistryDocument } from "../document/document.ts";
import { getStepType, type StepType } from "../document/step-type.ts";
import { type Outline, outlineOf } from "../outline/outline.ts";
import { type Declared, declaredIn } from "./declared.ts";
import { type Fault, type Report, reportTo } from "./fault.ts";
import { CUSTOM } from "./field.ts";
import { isRecord, itemsOf, own } from "./form.ts";

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
export type RegistryFields = Readonly<Partial<Record<keyof RegistryDocument, unknown>>>;

/** Looks at one step. Must not throw, whatever the step is. */
export type StepRule = (step: CheckedStep, subject: Subject) => void;

/** Looks at a document as a whole. Must not throw, whatever it is. */
export type DocumentRule = (subject: Subject) => void;

/** What the rules are given of a document. */
export function subjectOf(
  document: Readonly<Record<string, unknown>>,
  customTypes: ReadonlySet<string>,
  faults: Fault[],
): Subject {
  const registry: RegistryFields = isRecord(document.registry) ? document.registry : {};
  return {
    ...reportTo(faults),
    document,
    registry,
    declared: declaredIn(registry),
    steps: itemsOf(document.steps).flatMap((step, index) =>
      isRecord(step) ? checkedStep(step, index, customTypes, faults) : [],
    ),
    outline: outlineOf(document),
  };
}

function checkedStep(
  fields: Readonly<Record<string, unknown>>,
  index: number,
  customTypes: ReadonlySet<string>,
  faults: Fault[],
): CheckedStep {
  const given = own(fields, "id");
  const id = typeof given === "string" && given !== "" ? given : null;
  const report = reportTo(faults, ["steps", index], id, id ?? `steps[${index}]`);
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
