import { getStepType, prefixOf, type StepType } from "../document/document.ts";
import { itemsOf, own, quoted, type ViolationPath } from "../document/form.ts";
import { CUSTOM, type RegistryDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import { type Outline, outlineOf } from "../document/outline.ts";

/**
 * An error or a warning of a document. `message` is one line. For a step, it begins with the step's id. `path` is the
 * place in the document.
 */
export type Violation = {
  severity: "error" | "warning";
  stepID: string | null;
  path: (string | number)[];
  message: string;
};

type Report = Record<Violation["severity"], (path: ViolationPath, text: string) => void>;

/** A step for the rules. Paths in its reports start at the step. */
export type CheckedStep = Report & {
  /** The step's id; null if it is missing or unusable. */
  id: string | null;
  /** The canonical type; `custom` for a type that the caller handles; null for an unknown type. */
  type: StepType | typeof CUSTOM | null;
  fields: Readonly<Record<string, unknown>>;
  index: number;
};

export const declaring = ["params", "vars", "services", "apis", "components"] as const;

/** A document for the rules: the raw value, with its readable parts. */
export type Subject = Report & {
  document: Readonly<Record<string, unknown>>;
  registry: Readonly<Partial<Record<keyof RegistryDocument, unknown>>>;
  /** The names that the registry declares. A variable's name includes its `$`. */
  declared: Readonly<Record<(typeof declaring)[number] | "schemas", ReadonlySet<string>>>;
  steps: readonly CheckedStep[];
  outline: Outline;
  /** The known tools with the names of their inputs; null if any tool is valid. */
  tools: KnownTools | null;
};

export type KnownTools = Readonly<Record<string, readonly string[]>>;

export type CheckOptions = {
  /** The prefixes of the caller's handlers. */
  customTypes?: Iterable<string>;
  /** The known tools with the names of their inputs. If absent, any tool is valid. */
  tools?: KnownTools;
};

export type StepRule = (step: CheckedStep, subject: Subject) => void;
/** A rule of the whole document. It must not throw for any document. */
export type DocumentRule = (subject: Subject) => void;

/** Returns a document's subject. Its rules report to `violations`. */
export function subjectOf(
  document: Readonly<Record<string, unknown>>,
  { customTypes = [], tools }: CheckOptions,
  violations: Violation[],
): Subject {
  const handled = new Set(customTypes);
  const registry = isPlain(document.registry) ? document.registry : {};
  // An invalid declaration still declares its name, so that uses of the name are valid.
  const names = (list: unknown) => new Set(itemsOf(list).flatMap(nameIn));
  return {
    ...reportTo(violations),
    document,
    registry,
    declared: {
      params: names(registry.params),
      vars: names(registry.vars),
      services: names(registry.services),
      apis: names(registry.apis),
      components: names(registry.components),
      schemas: new Set(Object.keys(isPlain(registry.schemas) ? registry.schemas : {})),
    },
    steps: itemsOf(document.steps).flatMap((fields, index) => {
      if (!isPlain(fields)) return [];
      const given = own(fields, "id");
      const id = typeof given === "string" && given !== "" ? given : null;
      const report = reportTo(violations, ["steps", index], id, id ?? `steps[${index}]`);
      return { ...report, id, type: typeOf(fields, id, handled), fields, index };
    }),
    outline: outlineOf(document),
    tools: tools ?? null,
  };
}

function typeOf(
  { type }: Readonly<Record<string, unknown>>,
  id: string | null,
  customTypes: ReadonlySet<string>,
): CheckedStep["type"] {
  if (id === null || (type !== undefined && typeof type !== "string")) return null;
  return getStepType({ id, type }) ?? (customTypes.has(type ?? prefixOf(id)) ? CUSTOM : null);
}

/** Returns a type with its article: "a Tool", "an LLM". */
export const aStep = (type: string): string => `${/^([AIOU]|LLM)/.test(type) ? "an" : "a"} ${type}`;

/** Returns a report function whose paths begin at `home` and whose messages begin with `label`. */
function reportTo(
  violations: Violation[],
  home: ViolationPath = [],
  stepID: string | null = null,
  label: string | null = null,
): Report {
  const add = (severity: Violation["severity"]) => (path: ViolationPath, text: string) => {
    const line = text.replace(/[\p{Cc}\u2028\u2029]/gu, "?");
    const message = label === null ? line : `${labelOf(label)}: ${line}`;
    violations.push({ severity, stepID, path: [...home, ...path], message });
  };
  return { error: add("error"), warning: add("warning") };
}

function labelOf(label: string): string {
  const isShown = label.length <= 200 && !/[\p{Cc}\u2028\u2029]/u.test(label);
  return isShown ? label.toWellFormed() : quoted(label);
}

/** Returns the name of a declaration, a signature, or an object with an id. */
export function nameIn(declaration: unknown): string[] {
  const text = typeof declaration === "string" ? declaration : own(declaration, "id");
  const name = typeof text === "string" ? (text.split(/[(=]/, 1)[0] ?? "").trim() : "";
  return name === "" ? [] : [name];
}
