import { WorkflowError } from "@uncaged/workflow";
import { ENTRY, RETURN } from "../document/constants.ts";
import { getStepType } from "../document/step-type.ts";
import type { Enclosure } from "../outline/enclosure.ts";
import type { Outline } from "../outline/outline.ts";
import type { Marks } from "./marks.ts";
import { chainKey, entered, type Inside, type Position, startAt } from "./position.ts";

/**
 * Where a run stands that begins at a step of the caller's choice: inside every construct that the
 * step lies in, as the marks of a checkpoint say. A checkpoint can't tell how far the other chains
 * are: those that are not marked run from their entry.
 *
 * @throws WorkflowError `NO_SUCH_STEP` (missing); `STEP_AMBIGUOUS` when it lies in several constructs.
 */
export function positionBefore(outline: Outline, id: string, marks: Marks): Position {
  if (id === RETURN) return startAt(RETURN);
  if (id !== ENTRY && !outline.steps.has(id)) throw noSuchStep(outline, id);
  const ways = id === ENTRY ? [[]] : outline.enclosuresOf(id);
  const [way = []] = ways;
  if (ways.length > 1) throw ambiguous(id, ways);
  return way.reduceRight<Position>(
    (inner, enclosure) => enclosing(outline, enclosure, marks, inner),
    constructAt(outline, id, marks),
  );
}

/** The marks without those of the constructs that run again when a step does. */
export function dropMarks(outline: Outline, id: string, marks: Marks): Marks {
  const again = outline.reachableFrom(id);
  const kept = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([construct]) => !again.has(construct)));
  return {
    completedBranches: kept(marks.completedBranches),
    loopProgress: kept(marks.loopProgress),
  };
}

/** A construct as its marks tell of it; null when none of it is done. */
export function insideOf(outline: Outline, id: string, marks: Marks): Inside | null {
  const inside = marked(outline, id, marks);
  return inside.finished > 0 || inside.chains.size > 0 ? inside : null;
}

const constructAt = (outline: Outline, id: string, marks: Marks): Position => ({
  next: id,
  inside: insideOf(outline, id, marks),
});

function enclosing(outline: Outline, way: Enclosure, marks: Marks, inner: Position): Position {
  const inside = way.kind === "branch" ? entered() : marked(outline, way.in, marks);
  if (way.kind === "fork") inside.body ??= {};
  const iteration = way.kind === "loop" ? inside.finished : undefined;
  inside.chains.set(chainKey(way.child, iteration), inner);
  return { next: way.in, inside };
}

// A loop's iterations are its body; that of all else is not run again once a child is done.
function marked(outline: Outline, id: string, marks: Marks): Inside {
  const step = outline.steps.get(id);
  if (step && getStepType(step) === "Loop") {
    return { ...entered(), finished: marks.loopProgress[id] ?? 0 };
  }
  const children = marks.completedBranches[id] ?? [];
  const inside = entered(children.length > 0 ? {} : null);
  for (const child of children) inside.chains.set(child, startAt(RETURN));
  return inside;
}

function noSuchStep(outline: Outline, id: string): WorkflowError {
  const ids = [...outline.steps.keys()];
  const shown = ids.slice(0, 20).join(", ");
  return new WorkflowError({
    code: "NO_SUCH_STEP",
    kind: "missing",
    message: `the workflow has no step ${JSON.stringify(id)}`,
    hint: `its steps: ${shown}${ids.length > 20 ? ", …" : ""}`,
  });
}

function ambiguous(id: string, ways: Enclosure[][]): WorkflowError {
  const places = ways.map((way) => way.map((part) => part.in).join(" > ") || "the top");
  return new WorkflowError({
    code: "STEP_AMBIGUOUS",
    kind: "failed",
    message: `${id} lies in several constructs: ${places.slice(0, 10).join("; ")}`,
    hint: "begin at one of these constructs instead",
  });
}
