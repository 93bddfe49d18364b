import { BREAK, ENTRY, getStepType, RETURN } from "./document.ts";
import { itemsOf, own } from "./form.ts";
import type { StepDocument } from "./format.ts";
import { evaluate, namesIn } from "../expression/expression.ts";

/** The connections between a document's steps. */
export type Outline = {
  /** The steps by id, in document order. If several steps have the same id, only the first counts. */
  steps: ReadonlyMap<string, StepDocument>;
  /** The steps that no other step names. Several entries are the children of an implicit fork, `__entry__`. */
  entries: readonly string[];
  referencesOf: (id: string) => readonly Reference[];
  /** Returns the nestings of a step in constructs (at most 100), outermost first; `[[]]` at the top level. */
  enclosuresOf: (id: string) => Enclosure[][];
  /**
   * Returns, for each step, the construct to draw it in: the innermost construct that encloses all its nestings; null
   * at the top level.
   */
  containers: () => ReadonlyMap<string, string | null>;
  /** Returns the maximum nesting depth of a step, without the implicit fork of entries. */
  depthOf: (id: string) => number;
  /** Returns a step and all steps that can run after or inside it. */
  reachableFrom: (id: string) => Set<string>;
  /** The steps that lead back to themselves, grouped by cycle. */
  cycles: readonly (readonly string[])[];
  isCycle: (one: string, other: string) => boolean;
};

/** Returns the outline of any document, valid or not, in linear time. */
export function outlineOf(document: { readonly steps?: unknown }): Outline {
  const steps = stepsOf(document.steps);
  const references = new Map<string, Reference[]>();
  const named = new Set<string>();
  for (const [id, step] of steps) {
    const there = referencesOf(step).filter(({ to }) => steps.has(to));
    references.set(id, there);
    for (const { to } of there) if (to !== id) named.add(to);
  }
  const referencesFrom = (id: string): readonly Reference[] => references.get(id) ?? [];
  const edges = (id: string) => referencesFrom(id).map(({ to }) => to);
  const groups = groupsOf(steps.keys(), edges);
  const unnamed = [...steps.keys()].filter((id) => !named.has(id));
  // A step that leads to itself is an entry only if no other entry exists.
  const others = unnamed.filter((id) => !edges(id).includes(id));
  const entries = others.length > 0 ? others : unnamed;
  const graph = { steps, references: referencesFrom, entries, groups };
  let depths: ReadonlyMap<string, number> | undefined;
  let containers: ReadonlyMap<string, string | null> | undefined;
  let enclosuresOf: ReturnType<typeof enclosuresIn> | undefined;
  return {
    steps,
    entries,
    referencesOf: referencesFrom,
    reachableFrom: (id) => reached(id, edges),
    cycles: cyclesOf(steps.keys(), groups, edges),
    isCycle: (one, other) =>
      groups.get(one) === groups.get(other) && (one !== other || edges(one).includes(one)),
    containers: () => (containers ??= containersIn(graph)),
    depthOf: (id) => (depths ??= depthsIn(graph)).get(id) ?? 0,
    enclosuresOf: (id) => (steps.has(id) ? (enclosuresOf ??= enclosuresIn(graph))(id) : []),
  };
}

function stepsOf(steps: unknown): Map<string, StepDocument> {
  const byId = new Map<string, StepDocument>();
  for (const step of itemsOf(steps)) {
    const id = own(step, "id");
    if (typeof id === "string" && !byId.has(id)) byId.set(id, step as StepDocument);
  }
  return byId;
}

/** The kind of a reference. `next`, `onError` and `timeout` continue the step's chain. */
type ReferenceKind = "next" | "onError" | "timeout" | "child" | "case";

/** A reference from a step to another; `path` begins at the step. */
export type Reference = { kind: ReferenceKind; to: string; path: (string | number)[] };

/** Returns all references of a step, in the order of its fields. Skips malformed references. */
export function referencesOf(step: Readonly<Record<string, unknown>>): Reference[] {
  const found: Reference[] = [];
  const add = (kind: ReferenceKind, to: unknown, path: (string | number)[]) => {
    if (typeof to === "string") found.push({ kind, to, path });
  };
  for (const [index, child] of itemsOf(step.children).entries()) {
    add("child", child, ["children", index]);
  }
  for (const [index, pair] of itemsOf(step.cases).entries()) {
    add("case", itemsOf(pair)[1], ["cases", index, 1]);
  }
  add("onError", step.onError, ["onError"]);
  add("timeout", own(step.timeout, "on"), ["timeout", "on"]);
  if (step.next !== RETURN && step.next !== BREAK) add("next", step.next, ["next"]);
  return found;
}

// The referenced step continues the chain; it does not run inside the referring step.
const isChained = ({ kind }: Reference): boolean => kind !== "child" && kind !== "case";

/** A construct around a step, and the first step of its chain there. */
export type Enclosure = {
  in: string;
  kind: "fork" | "loop" | "branch" | "entry";
  child: string;
};

/**
 * The maximum number of nestings reported per step. A step after Branches that meet again can have exponentially many
 * nestings.
 */
const maxWays = 100;

type Graph = {
  steps: ReadonlyMap<string, StepDocument>;
  references: (id: string) => readonly Reference[];
  entries: readonly string[];
  groups: Groups;
};

/**
 * Returns every nesting of a step in constructs, outermost first. A construct does not enclose a case that leads back
 * to that construct: the case stays in the chain of its Branch. Therefore the number of nestings is finite.
 */
function enclosuresIn({ steps, references, entries, groups }: Graph) {
  const before = new Map<string, string[]>();
  const heads = new Map<string, Enclosure[]>();
  for (const [id, step] of steps) {
    const inner = getStepType(step) === "Loop" ? "loop" : "fork";
    for (const reference of references(id)) {
      const { kind, to } = reference;
      if (isChained(reference)) append(before, to, id);
      else if (groups.get(id) !== groups.get(to)) {
        append(heads, to, { in: id, kind: kind === "case" ? "branch" : inner, child: to });
      }
    }
  }
  const starts = new Set(entries);

  return function enclosuresOf(id: string, known = new Map<string, Enclosure[][]>()) {
    const found = known.get(id);
    if (found) return found;
    const ways: Enclosure[][] = [];
    for (const head of reached(id, (step) => before.get(step) ?? [])) {
      if (starts.has(head)) {
        ways.push(entries.length > 1 ? [{ in: ENTRY, kind: "entry", child: head }] : []);
      }
      for (const inner of heads.get(head) ?? []) {
        if (ways.length >= maxWays) break;
        for (const outer of enclosuresOf(inner.in, known)) ways.push([...outer, inner]);
      }
    }
    const shown = ways.slice(0, maxWays);
    known.set(id, shown);
    return shown;
  };
}

/** Returns one of several nestings that differ only in the arm of a Branch: arms that meet continue as one chain. */
export function distinctWays(ways: readonly Enclosure[][]): Enclosure[][] {
  const byPlace = new Map<string, Enclosure[]>();
  for (const way of ways) {
    const key = JSON.stringify(way.map((part) => [part.in, part.kind !== "branch" && part.child]));
    if (!byPlace.has(key)) byPlace.set(key, way);
  }
  return [...byPlace.values()];
}

/** Returns all steps reachable by `edges`, the step itself first. */
function reached(id: string, edges: (id: string) => readonly string[]): Set<string> {
  const seen = new Set([id]);
  for (const step of seen) {
    for (const target of edges(step)) seen.add(target);
  }
  return seen;
}

function append<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

type Edges = (id: string) => readonly string[];

/**
 * The group number of each step. Steps that lead to each other share a group. A step's number is smaller than its
 * callers' numbers.
 */
type Groups = ReadonlyMap<string, number>;

/** Groups steps that are reachable from each other (strongly connected components), in linear time. */
function groupsOf(ids: Iterable<string>, edges: Edges): Groups {
  const before = new Map<string, string[]>();
  const seen = new Set<string>();
  const left: string[] = [];
  for (const start of ids) {
    // Depth-first: a step appears on the stack a second time after all its successors.
    const walk = [{ id: start, isMet: false }];
    for (let top = walk.pop(); top; top = walk.pop()) {
      const { id, isMet } = top;
      if (isMet) left.push(id);
      if (isMet || seen.has(id)) continue;
      seen.add(id);
      walk.push({ id, isMet: true });
      for (const to of edges(id).toReversed()) {
        append(before, to, id);
        if (!seen.has(to)) walk.push({ id: to, isMet: false });
      }
    }
  }
  // Every ungrouped step that leads to the last finished step is also reachable from that step: both are in one group.
  const groups = new Map<string, number>();
  for (let count = left.length; count > 0; count -= 1) {
    const root = left[count - 1] as string;
    if (groups.has(root)) continue;
    const open = (id: string) => (before.get(id) ?? []).filter((one) => !groups.has(one));
    for (const id of reached(root, open)) groups.set(id, count);
  }
  return groups;
}

/** Returns the groups of several steps and the steps that lead to themselves, innermost first. */
function cyclesOf(ids: Iterable<string>, groups: Groups, edges: Edges): string[][] {
  const members: string[][] = [];
  for (const id of ids) (members[groups.get(id) ?? 0] ??= []).push(id);
  return members.filter((all) => all.length > 1 || all.some((id) => edges(id).includes(id)));
}

/** Returns the maximum nesting depth of each step. Constructs that form a cycle with their content count once. */
function depthsIn({ groups, references }: Graph): Map<string, number> {
  const depths: number[] = [];
  const outermostFirst = [...groups].toSorted(([, one], [, other]) => other - one);
  for (const [id, group] of outermostFirst) {
    const depth = (depths[group] ??= 0);
    for (const reference of references(id)) {
      const inner = groups.get(reference.to) ?? group;
      if (inner === group) continue;
      depths[inner] = Math.max(depths[inner] ?? 0, depth + (isChained(reference) ? 0 : 1));
    }
  }
  return new Map(outermostFirst.map(([id, group]) => [id, depths[group] ?? 0]));
}

/**
 * Returns, for each step, the construct to draw it in. A step that is reachable in several constructs belongs to the
 * innermost construct around all of these. A case that leads back to a construct stays outside that construct.
 */
function containersIn({ groups, references, entries }: Graph): Map<string, string | null> {
  const homes = new Map<string, string | null>();
  const depths = new Map<string | null, number>([[null, 0]]);
  const depthOf = (id: string | null) => depths.get(id) ?? 0;
  const outward = (id: string | null) => (id === null ? null : (homes.get(id) ?? null));
  const around = (one: string | null, other: string | null): string | null => {
    let [a, b] = [one, other];
    while (a !== b) {
      if (depthOf(a) >= depthOf(b)) a = outward(a);
      else b = outward(b);
    }
    return a;
  };
  const found: (string | null | undefined)[] = [];
  const join = (group: number, home: string | null) => {
    const known = found[group];
    found[group] = known === undefined ? home : around(known, home);
  };
  for (const id of entries) join(groups.get(id) ?? 0, null);
  const members: string[][] = [];
  for (const [id, group] of groups) (members[group] ??= []).push(id);
  // Callers come first, so that a construct's place is known before its content's places.
  for (const [group, ids] of [...members.entries()].toReversed()) {
    const home = found[group] ?? null;
    for (const id of ids ?? []) {
      homes.set(id, home);
      depths.set(id, depthOf(home) + 1);
    }
    for (const id of ids ?? []) {
      for (const reference of references(id)) {
        const inner = groups.get(reference.to) ?? group;
        if (inner !== group) join(inner, isChained(reference) ? home : id);
      }
    }
  }
  return homes;
}

/** The input that names a Subflow step's workflow. */
export const pathInput = "workflow_path";

export function runsWorkflow(step: StepDocument): boolean {
  const type = getStepType(step);
  if (type !== "Tool") return type === "Subflow";
  const name = step.tool ?? step.toolName;
  return name === undefined ? /^[^_]*_(\d+_)?WorkflowRun$/.test(step.id) : name === "WorkflowRun";
}

/** Returns the constant path of a Subflow: a text, or an expression without names. Returns null for a computed path. */
export function literalPath({ in: inputs, input }: StepDocument): string | null {
  const path = (inputs ?? input)?.[pathInput];
  if (typeof path !== "string" || path === "") return null;
  if (!path.startsWith("=")) return path;
  if (path.startsWith("==")) return path.slice(1);
  if (namesIn(path.slice(1)).length > 0) return null;
  try {
    const value = evaluate(path.slice(1), () => undefined);
    return typeof value === "string" && value !== "" ? value : null;
  } catch {
    // The step reports the failing expression when it runs.
    return null;
  }
}

export function withPath(step: StepDocument, path: string): StepDocument {
  const field = step.in === undefined ? "input" : "in";
  const literal = path.startsWith("=") ? `=${path}` : path;
  return { ...step, [field]: { ...step[field], [pathInput]: literal } };
}
