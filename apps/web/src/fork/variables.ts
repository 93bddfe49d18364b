import type { Step } from "@uncaged/workflow-server/api-types";
import { isRecord, readJson } from "../schema/json.ts";

type Write = { path: (string | number)[]; value: unknown; seq: number };

/**
 * The variables of a step workflow as some committed steps leave them: each step's meta tells its
 * writes as `variables: [{path, value, seq}]`, and a rerun's answer tells its `overrides`. `declared` are
 * those that the document declares, with what they begin with.
 */
export function variablesAfter(
  steps: readonly Step[],
  declared: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const variables: Record<string, unknown> = structuredClone({ ...declared });
  for (const { meta } of steps) {
    if (isOfChild(meta)) continue;
    for (const { path, value } of writesIn(meta).toSorted((a, b) => a.seq - b.seq)) {
      write(variables, path, value);
    }
    if (meta.for === "rerun") Object.assign(variables, givenBy(meta));
  }
  return variables;
}

// What a workflow inside of this one writes are variables of its own.
const isOfChild = ({ path }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(path) && path.some((part) => isRecord(part) && "run" in part);

/** The variables that a rerun begins with: those of its checkpoint, if it has one, and its own. */
function givenBy({
  checkpoint,
  overrides,
}: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = isRecord(checkpoint) && isRecord(checkpoint.variables) ? checkpoint.variables : {};
  const all = { ...kept, ...(isRecord(overrides) && overrides) };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith("$")));
}

const declaration = /^\s*(\$\w+)\s*\([^)]*\)\s*(?:=\s*(.*))?$/s;

/** The variables that a step workflow's descriptor declares, each with its first value; null for none. */
export function declaredIn(descriptor: unknown): Record<string, unknown> | null {
  const mark = isRecord(descriptor) ? descriptor.stepWorkflow : null;
  if (!isRecord(mark)) return null;
  const document = typeof mark.document === "string" ? readJson(mark.document).value : null;
  const registry = isRecord(document) ? document.registry : null;
  const vars: unknown[] = isRecord(registry) && Array.isArray(registry.vars) ? registry.vars : [];
  const found = vars.flatMap((one): [string, unknown][] => {
    const [, name, begins] = declaration.exec(typeof one === "string" ? one : "") ?? [];
    if (name === undefined) return [];
    return [[name, begins === undefined ? null : readJson(begins).value]];
  });
  return Object.fromEntries(found);
}

/** What of the values was changed: only that is sent. */
export function changesIn(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  );
}

function writesIn({ variables }: Readonly<Record<string, unknown>>): Write[] {
  const list: unknown[] = Array.isArray(variables) ? variables : [];
  return list.filter(
    (one): one is Write =>
      isRecord(one) &&
      Array.isArray(one.path) &&
      one.path.length > 0 &&
      typeof one.seq === "number",
  );
}

// What a log says must not reach what all objects share.
const forbidden = new Set<string | number>(["__proto__", "constructor", "prototype"]);

function write(root: Record<string, unknown>, path: (string | number)[], value: unknown): void {
  if (path.some((part) => forbidden.has(part))) return;
  let place: Record<string | number, unknown> = root;
  for (const [index, part] of path.slice(0, -1).entries()) {
    const inside = place[part];
    const isThere = typeof inside === "object" && inside !== null;
    // A write leaves what other steps told as it is.
    const next = isThere ? structuredClone(inside) : typeof path[index + 1] === "number" ? [] : {};
    place[part] = next;
    place = next as Record<string | number, unknown>;
  }
  const last = path.at(-1);
  if (last !== undefined) place[last] = value;
}
