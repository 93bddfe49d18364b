import type { Descriptor } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** One difference of two descriptors. `before` and `after` are set where both have it: the names of what is renamed. */
export type Change = {
  kind: "added" | "removed" | "changed" | "renamed";
  what: string;
  before?: string;
  after?: string;
};

/** What is in a descriptor and was not, or not so, in the one before. */
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

/** The differences of two records; what went and came again as it was has another name now. */
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

/** Whether two parts are the same but for their names. */
const isSame = (a: unknown, b: unknown): boolean => textOf(unnamed(a)) === textOf(unnamed(b));

const unnamed = (part: unknown): unknown => {
  if (!isRecord(part)) return part;
  const { id: _, ...rest } = part;
  return rest;
};

/** The parts of a step workflow's document beside its steps, by their names. */
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

/** Of two texts so much must be the same for one to be the other under a new name. */
const likely = 0.6;

/** Which of the texts that came is most like which of those that went, by their names. */
export function renamesOf(
  gone: ReadonlyMap<string, string>,
  come: ReadonlyMap<string, string>,
): Map<string, string> {
  const pairs = [...come].flatMap(([to, now]) =>
    Array.from(gone, ([from, then]) => ({ from, to, likeness: likenessOf(then, now) })),
  );
  const renames = new Map<string, string>();
  const taken = new Set<string>();
  for (const { from, to, likeness } of pairs.toSorted((a, b) => b.likeness - a.likeness)) {
    if (likeness < likely || renames.has(to) || taken.has(from)) continue;
    renames.set(to, from);
    taken.add(from);
  }
  return renames;
}

/** The part of the lines of two texts that both have, from 0 to 1. */
function likenessOf(a: string, b: string): number {
  if (a === b) return 1;
  const [left, right] = [a, b].map((text) => new Set(text.split("\n").map((line) => line.trim())));
  if (!left || !right) return 0;
  return (2 * left.intersection(right).size) / (left.size + right.size);
}
