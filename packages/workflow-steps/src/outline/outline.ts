import type { StepDocument } from "../document/document.ts";
import { cyclesOf, groupsOf } from "./cycle.ts";
import { depthsIn } from "./depth.ts";
import { type Enclosure, enclosuresIn, reached } from "./enclosure.ts";
import { type Reference, referencesOf } from "./reference.ts";

/** How the steps of a document hang together. */
export type Outline = {
  /** The steps by id, in the order of the document. Of two with one id the first. */
  steps: ReadonlyMap<string, StepDocument>;
  /** The steps that no other step names. Several are the children of an implicit fork, `__entry__`. */
  entries: readonly string[];
  /** What a step names, as far as it is there. */
  referencesOf: (id: string) => readonly Reference[];
  /** Each way (at most 100) in which a step lies in constructs, outermost first; `[[]]` at the top. */
  enclosuresOf: (id: string) => Enclosure[][];
  /** In how many constructs a step lies at the most. Several entries count for nothing here. */
  depthOf: (id: string) => number;
  /** A step and all that can run after it or inside of it. */
  reachableFrom: (id: string) => Set<string>;
  /** The steps that lead back to themselves, those of one cycle together. */
  cycles: readonly (readonly string[])[];
};

/**
 * The outline of a document. Never throws: steps without an id and references to steps that are not
 * there are left out, so a document that is not valid has an outline too. Linear in its size.
 *
 * @example
 * outlineOf(document).enclosuresOf("Set_B"); // [[{ in: "Fork_A", kind: "fork", child: "Set_B" }]]
 */
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
  const entries = [...steps.keys()].filter((id) => !named.has(id));
  let depths: ReadonlyMap<string, number> | undefined;
  let enclosuresOf: ReturnType<typeof enclosuresIn> | undefined;
  return {
    steps,
    entries,
    referencesOf: referencesFrom,
    reachableFrom: (id) => reached(id, edges),
    cycles: cyclesOf(groups, edges),
    depthOf(id) {
      depths ??= depthsIn(groups, referencesFrom);
      return depths.get(id) ?? 0;
    },
    enclosuresOf(id) {
      enclosuresOf ??= enclosuresIn({ steps, references: referencesFrom, entries, groups });
      return steps.has(id) ? enclosuresOf(id) : [];
    },
  };
}

function stepsOf(steps: unknown): Map<string, StepDocument> {
  const byId = new Map<string, StepDocument>();
  for (const step of Array.isArray(steps) ? (steps as readonly unknown[]) : []) {
    if (isStep(step) && !byId.has(step.id)) byId.set(step.id, step);
  }
  return byId;
}

const isStep = (step: unknown): step is StepDocument =>
  typeof step === "object" && step !== null && "id" in step && typeof step.id === "string";
