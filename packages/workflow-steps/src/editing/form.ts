import {
  type Change,
  type DocumentPath,
  type Edit,
  isRecord,
  listOf,
  type NodeForm,
  type Refused,
} from "@uncaged/workflow/editing";
import { renameStep } from "./edits.ts";
import { schemaFor } from "./fields.ts";
import { type StepRecord, stepsOf } from "./steps.ts";
import type { KnownTool } from "./tools.ts";

/** Returns the form of a step, from the format's JSON Schema for its type. */
export function formOf(
  document: unknown,
  node: string,
  tools: readonly KnownTool[],
): NodeForm | null {
  const steps = stepsOf(document);
  const found = steps.all.get(node);
  if (!found) return null;
  const { step, path } = found;
  const ids = [...steps.all.keys()].filter((id) => id !== node);
  const schema = schemaFor(step, ids, tools);
  return {
    schema,
    path,
    value: shownValue(step),
    locked: { id: "Use “Rename…” to change the id and all references." },
    expressions: expressions.filter((name) => (name.split(".")[0] ?? "") in schema.properties),
    edit: (at, value) => editOf(document, step, path, at, value),
  };
}

/** Fields that accept an expression. */
const expressions = [
  ...["if", "while", "print", "source", "value", "reason", "in", "input", "out", "cases.when"],
  ...["target", "model", "provider"],
];

/** Returns the value of the form: `title` at the top level, cases as objects. */
function shownValue(step: StepRecord): Record<string, unknown> {
  const { meta, cases, ...rest } = step;
  return {
    ...rest,
    ...(isRecord(meta) && meta.title !== undefined && { title: meta.title }),
    ...(cases !== undefined && {
      cases: listOf(cases).map((pair) => {
        const [when, then] = listOf(pair);
        return { when: typeof when === "string" ? when : JSON.stringify(when), then };
      }),
    }),
  };
}

function editOf(
  document: unknown,
  step: StepRecord,
  home: DocumentPath,
  at: DocumentPath,
  value: unknown,
): Edit | Refused {
  const [field, ...rest] = at;
  const label = `Change ${String(field)} of ${step.id}`;
  const merge = `${step.id} ${at.join(".")}`;
  if (field === "id") return renameStep(document, step.id, typeof value === "string" ? value : "");
  if (field === "cases") return casesEdit(step, home, rest, value, { label, merge });
  if (field === "title") return { label, merge, changes: [titleChange(step, home, value)] };
  const isNew = rest.length > 0 && typeof rest.at(-1) === "number" && isAppended(step, at);
  const change = { path: [...home, ...at], value };
  return { label, merge, changes: [isNew ? { ...change, insert: true as const } : change] };
}

/** Returns whether a path is the end of a list. */
function isAppended(step: StepRecord, at: DocumentPath): boolean {
  let list: unknown = step;
  for (const part of at.slice(0, -1))
    list = isRecord(list) || Array.isArray(list) ? (list as never)[part] : undefined;
  return Array.isArray(list) && at.at(-1) === list.length;
}

function titleChange({ meta }: StepRecord, home: DocumentPath, value: unknown): Change {
  const isEmpty = value === undefined || value === "";
  const isAlone = isRecord(meta) && Object.keys(meta).every((name) => name === "title");
  if (isEmpty && isAlone) return { path: [...home, "meta"], value: undefined };
  return { path: [...home, "meta", "title"], value: isEmpty ? undefined : value };
}

/** Edits cases. The document stores each as a pair. */
function casesEdit(
  { cases }: StepRecord,
  home: DocumentPath,
  [index, part]: DocumentPath,
  value: unknown,
  about: Pick<Edit, "label" | "merge">,
): Edit {
  const path = [...home, "cases"];
  const pairOf = (one: unknown) => (isRecord(one) ? [one.when ?? "", one.then ?? ""] : ["", ""]);
  if (index === undefined) {
    return { ...about, changes: [{ path, value: listOf(value).map(pairOf) }] };
  }
  if (part === undefined) {
    const isNew = index === listOf(cases).length;
    const pair = value === undefined ? undefined : pairOf(value);
    if (isNew && !Array.isArray(cases)) return { ...about, changes: [{ path, value: [pair] }] };
    return {
      ...about,
      changes: [{ path: [...path, index], value: pair, ...(isNew && { insert: true }) }],
    };
  }
  return {
    ...about,
    changes: [{ path: [...path, index, part === "when" ? 0 : 1], value: value ?? "" }],
  };
}
