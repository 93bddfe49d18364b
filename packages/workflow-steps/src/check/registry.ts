import { isWorkflowError } from "@uncaged/workflow";
import {
  type Declaration,
  parseParamDeclaration,
  parseVariableDeclaration,
} from "../registry/declaration.ts";
import { parseServiceSignature } from "../registry/service.ts";
import { isKnownType } from "../registry/value-type.ts";
import { nameIn } from "./declared.ts";
import { quoted, showPath } from "./fault.ts";
import { registryFields } from "./field.ts";
import { itemsOf, misfitsIn } from "./form.ts";
import type { DocumentRule, Subject } from "./subject.ts";

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
  for (const { path, text } of misfitsIn(form, registry, ["registry"])) error(path, text);
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
