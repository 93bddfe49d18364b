import type { RegistryDocument } from "../document/document.ts";
import { isRecord, itemsOf, own } from "./form.ts";

/** The names that a registry declares; `$` belongs to a variable's name. */
export type Declared = Readonly<
  Record<"params" | "vars" | "services" | "apis" | "components" | "schemas", ReadonlySet<string>>
>;

/**
 * What a registry declares, read as far as it goes: a declaration that is wrong has a name all the same,
 * so that its uses are no faults too.
 */
export function declaredIn(registry: Partial<Record<keyof RegistryDocument, unknown>>): Declared {
  const names = (list: unknown): ReadonlySet<string> => new Set(itemsOf(list).flatMap(nameIn));
  return {
    params: names(registry.params),
    vars: names(registry.vars),
    services: names(registry.services),
    apis: names(registry.apis),
    components: names(registry.components),
    schemas: new Set(isRecord(registry.schemas) ? Object.keys(registry.schemas) : []),
  };
}

/** The name of a declaration, of a signature, or of an object with an id. */
export function nameIn(declaration: unknown): string[] {
  const text = typeof declaration === "string" ? declaration : own(declaration, "id");
  const name = typeof text === "string" ? (text.split(/[(=]/, 1)[0] ?? "").trim() : "";
  return name === "" ? [] : [name];
}
