import { isWorkflowError } from "@uncaged/workflow";
import { nameOf } from "../document/document.ts";
import { itemsOf, quoted, showPath } from "../document/form.ts";
import {
  type Declaration,
  isKnownType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
} from "../registry/registry.ts";
import { declaring, type DocumentRule, nameIn, type StepRule } from "./subject.ts";

type Named = Pick<Declaration, "name" | "type">;

/** What declares something by a text, as the names with types that the text holds. */
const readers: Readonly<Record<string, (text: string) => Named[]>> = {
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
          const what = `the type ${quoted(type)} of ${quoted(name)} is not known`;
          warning(path, `${showPath(path)}: ${what}, so its values are not checked`);
        }
      } catch (thrown) {
        if (!isWorkflowError(thrown)) throw thrown;
        error(path, `${showPath(path)}: ${thrown.message}`);
      }
    }
  }
};

const namesAreUnique: DocumentRule = ({ registry, declared, error }) => {
  for (const field of declaring) {
    const seen = new Set<string>();
    for (const [index, declaration] of itemsOf(registry[field]).entries()) {
      for (const name of nameIn(declaration)) {
        const path = ["registry", field, index];
        if (seen.has(name)) error(path, `${showPath(path)}: ${quoted(name)} is declared twice`);
        seen.add(name);
        // `n` and `$n` would be two things with one name.
        if (field === "vars" && declared.params.has(name.replace(/^\$/, ""))) {
          error(path, `${showPath(path)}: ${quoted(name)} has the name of a param`);
        }
      }
    }
  }
};

export const registryRules: readonly DocumentRule[] = [declarationsCanBeRead, namesAreUnique];

/** What a Service, an API and a Component name is in the registry. */
export const callsWhatIsDeclared: StepRule = ({ id, type, error, warning }, { declared }) => {
  const check = (report: typeof error, what: string, field: "services" | "apis" | "components") => {
    const name = nameOf(id ?? "", [...declared[field]]);
    if (declared[field].has(name)) return;
    report(["id"], `the ${what} ${quoted(name)} is not in registry.${field}`);
  };
  if (type === "Service") check(error, "service", "services");
  else if (type === "API") check(error, "API", "apis");
  else if (type === "Component") check(warning, "component", "components");
};
