import { isWorkflowError } from "@uncaged/workflow";
import { nameOf } from "../document/document.ts";
import {
  type Declaration,
  isKnownType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
} from "../registry/declaration.ts";
import { isPlain } from "../expression/value.ts";
import { registryFields } from "../document/format.ts";
import { itemsOf, listed, own, quoted, showPath, violationsOf } from "../document/form.ts";
import { aStep, type CheckedStep, type DocumentRule, nameIn, type Subject } from "./subject.ts";

/** The rules for what a registry declares. */
export const registryRules: readonly DocumentRule[] = [
  hasFields,
  declarationsCanBeRead,
  namesAreUnique,
  sharesNoName,
];

/** What declares something by a text, as the names with types that the text holds. */
const readers: Readonly<Record<"params" | "vars" | "services", (text: string) => Named[]>> = {
  params: (text) => [parseParamDeclaration(text)],
  vars: (text) => [parseVariableDeclaration(text)],
  services(text) {
    const { params, returns } = parseServiceSignature(text);
    return [...params, ...returns];
  },
};
type Named = Pick<Declaration, "name" | "type">;

function hasFields({ registry, error }: Subject): void {
  const form = { type: "object", properties: registryFields } as const;
  for (const { path, text } of violationsOf(form, registry, ["registry"])) error(path, text);
}

function declarationsCanBeRead({ registry, error, warning }: Subject): void {
  for (const field of ["params", "vars", "services"] as const) {
    for (const [index, text] of itemsOf(registry[field]).entries()) {
      const path = ["registry", field, index];
      const read = typeof text === "string" ? namesIn(readers[field], text) : [];
      if (typeof read === "string") error(path, `${showPath(path)}: ${read}`);
      else {
        for (const { name, type } of read.filter((one) => !isKnownType(one.type))) {
          const what = `the type ${quoted(type)} of ${quoted(name)} is not known`;
          warning(path, `${showPath(path)}: ${what}, so its values are not checked`);
        }
      }
    }
  }
}

function namesIn(read: (text: string) => Named[], text: string): Named[] | string {
  try {
    return read(text);
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return error.message;
  }
}

function namesAreUnique({ registry, error }: Subject): void {
  for (const field of ["params", "vars", "services", "apis", "components"] as const) {
    const seen = new Set<string>();
    for (const [index, declaration] of itemsOf(registry[field]).entries()) {
      for (const name of nameIn(declaration)) {
        const path = ["registry", field, index];
        if (seen.has(name)) error(path, `${showPath(path)}: ${quoted(name)} is declared twice`);
        seen.add(name);
      }
    }
  }
}

// `n` and `$n` would be two things with one name.
function sharesNoName({ registry, declared, error }: Subject): void {
  for (const [index, declaration] of itemsOf(registry.vars).entries()) {
    for (const name of nameIn(declaration)) {
      if (!declared.params.has(name.replace(/^\$/, ""))) continue;
      const path = ["registry", "vars", index];
      error(path, `${showPath(path)}: ${quoted(name)} has the name of a param`);
    }
  }
}

/** What a Service, an API and a Component name is in the registry. */
export function callsWhatIsDeclared({ id, type, error, warning }: CheckedStep, subject: Subject) {
  const { services, apis, components } = subject.declared;
  const called = (known: ReadonlySet<string>) => nameOf(id ?? "", [...known]);
  const isMissing = (known: ReadonlySet<string>) => !known.has(called(known));
  if (type === "Service" && isMissing(services)) {
    error(["id"], `the service ${quoted(called(services))} is not in registry.services`);
  }
  if (type === "API" && isMissing(apis)) {
    error(["id"], `the API ${quoted(called(apis))} is not in registry.apis`);
  }
  if (type === "Component" && isMissing(components)) {
    warning(["id"], `the component ${quoted(called(components))} is not in registry.components`);
  }
}

/** A model's name is not empty, and neither is a side of `provider/model`. */
export function hasModelName({ type, fields, error }: CheckedStep): void {
  if (type !== "LLM") return;
  for (const [home, path] of placesOfInput(fields)) {
    for (const name of ["model", "provider"]) {
      const value = own(home, name);
      if (typeof value !== "string" || value.startsWith("=")) continue;
      const where = [...path, name];
      if (value.trim() === "") error(where, `${showPath(where)} is empty`);
      else if (name === "model" && hasEmptySide(value) && !hasProvider(fields)) {
        error(where, `${showPath(where)} ${quoted(value)} has an empty side`);
      }
    }
  }
}

const hasEmptySide = (model: string): boolean => {
  const at = model.indexOf("/");
  return at >= 0 && (model.slice(0, at).trim() === "" || model.slice(at + 1).trim() === "");
};

const hasProvider = (fields: Readonly<Record<string, unknown>>): boolean =>
  placesOfInput(fields).some(([home]) => own(home, "provider") !== undefined);

const outputTypes = ["text", "json_object", "json_schema"];

/** The form of a model's answer is one that there is, with one schema. */
export function hasOneSchema({ type, fields, error }: CheckedStep, { declared }: Subject): void {
  if (type !== "LLM") return;
  for (const [home, place] of placesOfInput(fields).slice(1)) {
    const config = own(home, "output_config");
    const format = own(config, "format");
    const [flat, path] = isPlain(format)
      ? [format, [...place, "output_config", "format"]]
      : [config, [...place, "output_config"]];
    const ref = own(flat, "schemaRef");
    const kind = own(flat, "type");
    if (ref !== undefined && own(flat, "schema") !== undefined) {
      error(path, `${showPath(path)} has a schema and a schemaRef`);
    }
    if (typeof ref === "string" && !ref.startsWith("=") && !declared.schemas.has(ref)) {
      error([...path, "schemaRef"], `the schema ${quoted(ref)} is not in registry.schemas`);
    }
    if (typeof kind === "string" && !kind.startsWith("=") && !outputTypes.includes(kind)) {
      error([...path, "type"], `${showPath(path)}.type must be ${listed(outputTypes)}`);
    }
  }
}

/** A Download and an Unzip say what they read. */
export function hasSource({ type, fields, error }: CheckedStep): void {
  if (type !== "Download" && type !== "Unzip") return;
  const isGiven = placesOfInput(fields).some(([home]) => own(home, "source") !== undefined);
  if (!isGiven) error([], `${aStep(type)} needs source in its in`);
}

// The step itself, then its inputs: where a call looks for its parameters.
function placesOfInput(
  fields: Readonly<Record<string, unknown>>,
): [Readonly<Record<string, unknown>>, string[]][] {
  const name = fields.in === undefined ? "input" : "in";
  const input = fields[name];
  return isPlain(input)
    ? [
        [fields, []],
        [input, [name]],
      ]
    : [[fields, []]];
}
