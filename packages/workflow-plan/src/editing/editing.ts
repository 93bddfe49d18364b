import {
  type Change,
  type DocumentEditing,
  type DrawnEdge,
  type DrawnNode,
  type Edit,
  isRecord,
  listOf,
  type Port,
  type PortAt,
  type Problem,
  type Refused,
  shortened,
  textOf,
} from "@uncaged/workflow/editing";
import { givenSteps, stepProblems } from "../check/steps.ts";
import { ownMetadata } from "../plan/metadata.ts";
import type { PlanMetadata } from "../plan/plan.ts";

/** Returns the editable part of a plan as JSON. */
export function editedText(plan: Edited): string {
  const { name, description, trigger, failure_policy } = plan;
  const steps = plan.steps.map((step) => ({ ...step, position: undefined }));
  const { owner: _, ...own } = ownMetadata(plan.metadata as PlanMetadata | undefined);
  const metadata = Object.keys(own).length > 0 ? own : undefined;
  return JSON.stringify({ name, description, trigger, steps, failure_policy, metadata }, null, 2);
}

/** A plan from a server, with unknown fields. */
type Edited = {
  name: string;
  description: string;
  trigger: object;
  steps: readonly object[];
  failure_policy: object;
  metadata?: object;
};

type Step = {
  id: string;
  index: number;
  description: string;
  dependsOn: readonly unknown[];
  value: Readonly<Record<string, unknown>>;
};

/** Returns the valid steps. Keeps only the first of several steps with the same id. */
function stepsOf(document: unknown): Map<string, Step> {
  const steps = new Map<string, Step>();
  const given = listOf(isRecord(document) ? document.steps : []);
  for (const [index, value] of given.entries()) {
    if (!isRecord(value) || typeof value.id !== "string" || steps.has(value.id)) continue;
    const { id, description, depends_on } = value;
    const step = { id, index, value, description: textOf(description) };
    steps.set(id, { ...step, dependsOn: listOf(depends_on) });
  }
  return steps;
}

const longestLine = 64;

const portOf = (role: Port["role"], hint: string): Port => ({
  ...{ id: role, role, side: role === "in" ? "left" : "right", label: null, isOpen: true, hint },
});

function nodeOf({ id, index, description }: Step): DrawnNode {
  return {
    ...{ id, type: "step", title: id, lines: [shortened(description, longestLine)], at: null },
    ...{ parent: null, isContainer: false, isFixed: false, path: ["steps", index] },
    ports: [portOf("in", "Steps that it waits for"), portOf("out", "Steps that wait for it")],
  };
}

const edgesOf = ({ id, index, dependsOn }: Step, steps: ReadonlyMap<string, Step>): DrawnEdge[] =>
  dependsOn.flatMap((from, at): DrawnEdge[] => {
    if (typeof from !== "string" || !steps.has(from) || dependsOn.indexOf(from) < at) return [];
    return [
      {
        ...{ id: JSON.stringify([from, id]), source: from, sourcePort: "out", target: id },
        ...{ targetPort: "in", label: null, look: "next" },
        path: ["steps", index, "depends_on", at],
      },
    ];
  });

const problemsOf = (document: unknown): Problem[] =>
  stepProblems(givenSteps(document)).map(({ path, message }) => {
    return { path, message, severity: "error" };
  });

function newId(taken: ReadonlySet<string>): string {
  for (let n = 1; ; n += 1) if (!taken.has(`step-${n}`)) return `step-${n}`;
}

const insertion = (document: unknown, added: readonly unknown[]): Change[] => {
  const count = listOf(isRecord(document) ? document.steps : []).length;
  return added.map((value, at) => ({ path: ["steps", count + at], value, insert: true }));
};

function addStep(document: unknown): Edit {
  const id = newId(new Set(stepsOf(document).keys()));
  const step = { id, description: "", agent: "claude", inputs: {}, depends_on: [] };
  return { label: "Add a step", changes: insertion(document, [step]), select: [id] };
}

/** Removes lines, and steps with the dependencies on them. */
function remove(document: unknown, nodes: readonly string[], edges: readonly string[]): Edit {
  const steps = stepsOf(document);
  const gone = new Set(nodes);
  const lines = new Set(edges);
  const changes = [...steps.values()].flatMap(({ id, index, dependsOn }): Change[] => {
    if (gone.has(id)) return [{ path: ["steps", index], value: undefined }];
    return dependsOn.flatMap((from, at) =>
      gone.has(String(from)) || lines.has(JSON.stringify([from, id]))
        ? [{ path: ["steps", index, "depends_on", at], value: undefined }]
        : [],
    );
  });
  return { label: nodes.length > 0 ? "Delete steps" : "Delete lines", changes, select: [] };
}

function connect(
  document: unknown,
  from: PortAt,
  to: PortAt,
  replacing?: string,
): Edit | Refused | null {
  const steps = stepsOf(document);
  const target = steps.get(to.node);
  if (!target || !steps.has(from.node)) return null;
  if (from.node === to.node) return { refused: "A step can't depend on itself." };
  if (comesAfter(steps, from.node, to.node)) {
    return {
      refused: `${from.node} already comes after ${to.node}: the connection would form a cycle.`,
    };
  }
  const removed = replacing === undefined ? [] : remove(document, [], [replacing]).changes;
  const { index, dependsOn, value } = target;
  if (dependsOn.includes(from.node)) return null;
  const isList = Array.isArray(value.depends_on);
  const added: Change = isList
    ? { path: ["steps", index, "depends_on", dependsOn.length], value: from.node, insert: true }
    : { path: ["steps", index, "depends_on"], value: [from.node] };
  return { label: "Connect steps", changes: [...removed, added] };
}

/** Tells whether a step depends on another step, directly or indirectly. */
function comesAfter(steps: ReadonlyMap<string, Step>, id: string, other: string): boolean {
  const seen = new Set<string>();
  const next = [id];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    if (at === other) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    next.push(...(steps.get(at)?.dependsOn ?? []).map(String));
  }
  return false;
}

function copy(document: unknown, nodes: readonly string[]): unknown {
  const steps = stepsOf(document);
  return { steps: nodes.flatMap((id) => steps.get(id)?.value ?? []) };
}

/** Pastes steps under new ids and keeps the dependencies among them. */
function paste(document: unknown, fragment: unknown): Edit | null {
  const copies = [...stepsOf(fragment).values()];
  if (copies.length === 0) return null;
  const taken = new Set(stepsOf(document).keys());
  const ids = new Map<string, string>();
  for (const { id } of copies) {
    const own = taken.has(id) ? newId(taken) : id;
    taken.add(own);
    ids.set(id, own);
  }
  const added = copies.map(({ id, value, dependsOn }) => ({
    ...value,
    id: ids.get(id),
    depends_on: dependsOn.flatMap((from) => ids.get(String(from)) ?? []),
  }));
  return {
    label: copies.length === 1 ? "Paste a step" : `Paste ${copies.length} steps`,
    changes: insertion(document, added),
    select: [...ids.values()],
  };
}

const stepSchema = {
  type: "object",
  required: ["id", "description"],
  properties: {
    id: { type: "string", title: "Id" },
    description: { type: "string", title: "Task", format: "textarea", maxLength: 100_000 },
    expected_output: { type: "string", title: "Result" },
    inputs: {
      type: "object",
      title: "Inputs",
      description: "Texts may contain $steps.<id>.output and $trigger_data.",
      additionalProperties: { type: "string" },
    },
  },
};

/** The editing of plans. Positions are computed. */
export const planEditing: DocumentEditing = {
  noun: "plan",
  emptyText: "{}\n",
  read(document) {
    const steps = stepsOf(document);
    const all = [...steps.values()];
    return { nodes: all.map(nodeOf), edges: all.flatMap((step) => edgesOf(step, steps)) };
  },
  check: problemsOf,
  recognize: (document) =>
    isRecord(document) && Array.isArray(document.steps) ? null : "a document without steps",
  add: addStep,
  remove,
  connect,
  copy,
  paste,
  form(document, id) {
    const step = stepsOf(document).get(id);
    if (!step) return null;
    const locked = { id: "Other steps refer to it: change it in the JSON." };
    return { schema: stepSchema, path: ["steps", step.index], value: step.value, locked };
  },
};
