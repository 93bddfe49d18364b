import type { Step } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../schema/json.ts";

type Write = { path: (string | number)[]; value: unknown; seq: number };

/**
 * The variables of a step workflow as some committed steps leave them: each step's meta tells its
 * writes as `variables: [{path, value, seq}]`, and a rerun's answer tells its `overrides`.
 */
export function variablesAfter(steps: readonly Step[]): Record<string, unknown> {
  const variables: Record<string, unknown> = {};
  for (const { meta } of steps) {
    for (const { path, value } of writesIn(meta).toSorted((a, b) => a.seq - b.seq)) {
      write(variables, path, value);
    }
    if (meta.for === "rerun" && isRecord(meta.overrides)) Object.assign(variables, meta.overrides);
  }
  return variables;
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
