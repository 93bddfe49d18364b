import { ENTRY } from "../document/constants.ts";
import type { StepDocument } from "../document/document.ts";
import { getStepType } from "../document/step-type.ts";
import type { Groups } from "./cycle.ts";
import { isChained, type Reference } from "./reference.ts";

/** A construct that a step lies in, and the first step of the chain that the step is part of there. */
export type Enclosure = {
  in: string;
  kind: "fork" | "loop" | "branch" | "entry";
  child: string;
};

/** The most ways that are told of one step. Branches that meet again can make more than can be counted. */
const maxWays = 100;

/** What enclosures are found in. */
export type Graph = {
  steps: ReadonlyMap<string, StepDocument>;
  references: (id: string) => readonly Reference[];
  entries: readonly string[];
  groups: Groups;
};

/**
 * Finds, for a step, every way in which it lies inside constructs, outermost first.
 *
 * A construct does not enclose what leads back to it: a case that jumps back to where its Branch was
 * reached from stays in the chain of that Branch. So the ways are finite.
 */
export function enclosuresIn({ steps, references, entries, groups }: Graph) {
  const before = new Map<string, string[]>();
  const heads = new Map<string, Enclosure[]>();
  for (const [id, step] of steps) {
    for (const reference of references(id)) {
      if (isChained(reference)) append(before, reference.to, id);
      else if (groups.get(id) !== groups.get(reference.to)) {
        append(heads, reference.to, enclosure(step, reference));
      }
    }
  }
  const starts = new Set(entries);
  const entryWay = (child: string): Enclosure[] =>
    entries.length > 1 ? [{ in: ENTRY, kind: "entry", child }] : [];

  return function enclosuresOf(id: string, known = new Map<string, Enclosure[][]>()) {
    const found = known.get(id);
    if (found) return found;
    const ways: Enclosure[][] = [];
    for (const head of reached(id, (step) => before.get(step) ?? [])) {
      if (starts.has(head)) ways.push(entryWay(head));
      for (const inner of heads.get(head) ?? []) {
        if (ways.length >= maxWays) break;
        for (const outer of enclosuresOf(inner.in, known)) ways.push([...outer, inner]);
      }
    }
    const told = ways.slice(0, maxWays);
    known.set(id, told);
    return told;
  };
}

/** All that is reached from a step by `edges`, itself first. */
export function reached(id: string, edges: (id: string) => readonly string[]): Set<string> {
  const seen = new Set([id]);
  for (const step of seen) {
    for (const target of edges(step)) seen.add(target);
  }
  return seen;
}

function enclosure(step: StepDocument, { kind, to }: Reference): Enclosure {
  if (kind === "case") return { in: step.id, kind: "branch", child: to };
  return { in: step.id, kind: getStepType(step) === "Loop" ? "loop" : "fork", child: to };
}

function append<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
