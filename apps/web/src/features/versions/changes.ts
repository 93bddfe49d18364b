import type { Descriptor } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** One difference of two descriptors. `before` and `after` are set where both have it. */
export type Change = {
  kind: "added" | "removed" | "changed";
  what: string;
  before?: string;
  after?: string;
};

/** What is in a descriptor and was not, or not so, in the one before. */
export function changesOf(before: Descriptor, after: Descriptor): Change[] {
  const { roles: oldRoles, stepWorkflow: oldSteps, ...oldRest } = before;
  const { roles, stepWorkflow: steps, ...rest } = after;
  return [
    ...changesIn(oldRest, rest, (name) => name),
    ...changesIn(oldRoles, roles, (name) => `role ${name}`),
    ...changesIn(partsOf(oldSteps), partsOf(steps), (name) => name),
  ];
}

function changesIn(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  whatIs: (name: string) => string,
): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): Change[] => {
    const what = whatIs(name);
    if (!Object.hasOwn(before, name)) return [{ kind: "added", what }];
    if (!Object.hasOwn(after, name)) return [{ kind: "removed", what }];
    const [old, now] = [textOf(before[name]), textOf(after[name])];
    return old === now ? [] : [{ kind: "changed", what, before: old, after: now }];
  });
}

/** The parts of a step workflow's document, by their names: its steps, and all else. */
function partsOf(mark: unknown): Record<string, unknown> {
  const text = isRecord(mark) ? mark.document : null;
  const document: unknown = typeof text === "string" ? JSON.parse(text) : null;
  if (!isRecord(document)) return {};
  const { steps, name, description: _, ...rest } = document;
  const all = Array.isArray(steps) ? steps.filter(isRecord) : [];
  return Object.fromEntries([
    ...Object.entries(rest).map(([key, value]) => [`document's ${key}`, value] as const),
    ["document's name", name],
    ...all.map((step) => [`step ${String(step.id)}`, step] as const),
  ]);
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
