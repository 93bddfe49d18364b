import type { Descriptor } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** A difference between two descriptors. `before` and `after` are values, or names for a rename. */
export type Change = {
  kind: "added" | "removed" | "changed" | "renamed";
  what: string;
  before?: string;
  after?: string;
};

export function changesOf(before: Descriptor, after: Descriptor): Change[] {
  const { roles: oldRoles, stepWorkflow: oldSteps, ...oldRest } = before;
  const { roles, stepWorkflow: steps, ...rest } = after;
  return [
    ...changesIn(oldRest, rest),
    ...changesIn(oldRoles, roles, "role"),
    ...changesIn(partsOf(oldSteps), partsOf(steps)),
    ...changesIn(stepsOf(oldSteps), stepsOf(steps), "step"),
  ];
}

type Parts = Readonly<Record<string, unknown>>;

/** The differences between two records. A removed and an added entry with the same value are a rename. */
function changesIn(before: Parts, after: Parts, kind?: string): Change[] {
  const whatIs = (name: string) => (kind === undefined ? name : `${kind} ${name}`);
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const names = new Map<string, string>();
  const renamed = new Set<string>();
  for (const name of Object.keys(after)) {
    if (kind === undefined || Object.hasOwn(before, name)) continue;
    const old = gone.find((one) => !renamed.has(one) && isSame(before[one], after[name]));
    if (old === undefined) continue;
    names.set(name, old);
    renamed.add(old);
  }
  const all = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...all].flatMap((name): Change[] => {
    const what = whatIs(name);
    const old = names.get(name);
    if (old !== undefined) return [{ kind: "renamed", what: kind ?? "", before: old, after: name }];
    if (renamed.has(name)) return [];
    if (!Object.hasOwn(before, name)) return [{ kind: "added", what }];
    if (!Object.hasOwn(after, name)) return [{ kind: "removed", what }];
    const [then, now] = [textOf(before[name]), textOf(after[name])];
    return then === now ? [] : [{ kind: "changed", what, before: then, after: now }];
  });
}

/** Tells whether two parts are equal except for their ids. */
const isSame = (a: unknown, b: unknown): boolean => textOf(unnamed(a)) === textOf(unnamed(b));

const unnamed = (part: unknown): unknown => {
  if (!isRecord(part)) return part;
  const { id: _, ...rest } = part;
  return rest;
};

/** The parts of a step workflow's document except its steps. */
function partsOf(mark: unknown): Parts {
  const { steps: _, description: __, name, ...rest } = documentOf(mark);
  const parts = Object.entries({ ...rest, ...(name !== undefined && { name }) });
  return Object.fromEntries(parts.map(([key, value]) => [`document's ${key}`, value]));
}

const stepsOf = (mark: unknown): Parts => {
  const { steps } = documentOf(mark);
  const all = Array.isArray(steps) ? steps.filter(isRecord) : [];
  return Object.fromEntries(all.map((step) => [String(step.id), step]));
};

function documentOf(mark: unknown): Parts {
  const text = isRecord(mark) ? mark.document : null;
  const document: unknown = typeof text === "string" ? JSON.parse(text) : null;
  return isRecord(document) ? document : {};
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
