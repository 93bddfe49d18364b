import type { Draft, Drafts, FormField } from "./fields.ts";
import { ownIn, readJson } from "./json.ts";

/** What a form says: its value, or what is wrong with which field. */
export type FormAnswer = { value: unknown; problems: Readonly<Record<string, string>> };

type One = { value?: unknown; problem?: string };

/**
 * The value that the controls of a form hold. A field that is left empty is left out, unless it must be
 * there. It checks what the controls can't; the rest of the schema is checked by who gets the value.
 */
export function answerOf(fields: readonly FormField[], drafts: Drafts): FormAnswer {
  const problems: [string, string][] = [];
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const { value, problem } = valueOf(field, ownIn(drafts, field.name) ?? field.draft);
    if (problem !== undefined) problems.push([field.name, problem]);
    else if (value !== undefined) values.push([field.name, value]);
  }
  const isSingle = fields.length === 1 && fields[0]?.name === "";
  return {
    value: isSingle ? values[0]?.[1] : Object.fromEntries(values),
    problems: Object.fromEntries(problems),
  };
}

function valueOf({ kind, isRequired, isNullable }: FormField, draft: Draft): One {
  if (typeof draft === "boolean") return { value: draft };
  if (draft.trim() === "") {
    if (isRequired) return { problem: "This must be filled in." };
    return isNullable ? { value: null } : {};
  }
  switch (kind) {
    case "number":
    case "integer":
      return numberOf(draft, kind === "integer");
    case "choice":
    case "json": {
      const { value, problem } = readJson(draft);
      return problem === null ? { value } : { problem };
    }
    default:
      return { value: draft };
  }
}

function numberOf(draft: string, isWhole: boolean): One {
  const value = Number(draft);
  if (!Number.isFinite(value)) return { problem: "This must be a number." };
  if (isWhole && !Number.isInteger(value)) return { problem: "This must be a whole number." };
  return { value };
}
