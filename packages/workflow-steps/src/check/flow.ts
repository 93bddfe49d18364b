import { BREAK, RETURN } from "../document/document.ts";
import { itemsOf, quoted, showPath } from "../document/form.ts";
import { namesIn } from "../expression/expression.ts";
import { type Outline, type Reference, referencesOf } from "../document/outline.ts";
import { variablesWrittenBy } from "./expression.ts";
import type { CheckedStep, DocumentRule, StepRule } from "./subject.ts";

const deepestNesting = 100;

export const hasNext: StepRule = ({ type, fields, warning }) => {
  if (type === "Stop" || type === null || fields.next !== undefined) return;
  warning([], "next is missing, so the chain ends here, as with RETURN");
};

export const namesStepsThatExist: StepRule = ({ fields, error }, { outline }) => {
  for (const { to, path } of referencesOf(fields)) {
    if (outline.steps.has(to)) continue;
    const isEnd = to === RETURN || to === BREAK;
    const why = isEnd ? `${to} is only allowed in next` : `no step ${quoted(to)} found`;
    error(path, `${showPath(path)}: ${why}`);
  }
};

// Commits identify children by their ids.
export const namesEachChildOnce: StepRule = ({ fields, error }) => {
  const seen = new Set<unknown>();
  for (const [index, child] of itemsOf(fields.children).entries()) {
    if (typeof child === "string" && seen.has(child)) {
      error(["children", index], `children[${index}]: ${quoted(child)} is named twice`);
    }
    seen.add(child);
  }
};

/** Returns the given steps and all steps that can run after or inside them. */
function reachedFrom(ids: Iterable<string>, outline: Outline): Set<string> {
  const reached = new Set(ids);
  for (const id of reached) for (const { to } of outline.referencesOf(id)) reached.add(to);
  return reached;
}

const childrenOf = (id: string, outline: Outline): Reference[] =>
  outline.referencesOf(id).filter(({ kind }) => kind === "child");

const breaksAreInLoops: DocumentRule = ({ steps, outline }) => {
  const loops = steps.flatMap(({ id, type }) => (id !== null && type === "Loop" ? id : []));
  const bodies = loops.flatMap((id) => childrenOf(id, outline).map(({ to }) => to));
  const inLoop = reachedFrom(bodies, outline);
  for (const { id, fields, error } of steps) {
    if (fields.next === BREAK && id !== null && !inLoop.has(id)) {
      error(["next"], "next: BREAK ends a loop, but this step is not in a loop");
    }
  }
};

/** Returns the children of a step that belong to the cycle. A step with such children would run inside itself. */
const childrenAmong = (cycle: ReadonlySet<string>, id: string, outline: Outline): Reference[] =>
  childrenOf(id, outline).filter(({ to }) => cycle.has(to));

// Only a Branch may lead back to a step that leads to it.
const constructsDoNotContainThemselves: DocumentRule = ({ steps, outline }) => {
  const sets = outline.cycles.map((cycle) => new Set(cycle));
  const cycleOf = new Map(sets.flatMap((cycle) => [...cycle].map((id) => [id, cycle])));
  for (const { id, error } of steps) {
    const cycle = cycleOf.get(id ?? "");
    if (id === null || !cycle) continue;
    for (const { to, path } of childrenAmong(cycle, id, outline)) {
      const why = `${quoted(to)} leads back here, so the step would run inside itself`;
      error(path, `${showPath(path)}: ${why}`);
    }
  }
};

const hasEntry: DocumentRule = ({ steps, outline, error }) => {
  if (outline.steps.size === 0 || outline.entries.length > 0 || steps.length === 0) return;
  const remedy = "put a Noop before the first";
  error(["steps"], `no entry found: each step is named by another, so ${remedy}`);
};

const reachesAll: DocumentRule = ({ steps, outline }) => {
  if (outline.entries.length === 0) return;
  const reached = reachedFrom(outline.entries, outline);
  for (const { id, error } of steps) {
    if (id !== null && !reached.has(id)) error([], "no entry leads to this step");
  }
};

const nestsNotTooDeep: DocumentRule = ({ steps, outline }) => {
  const tooDeep = steps.find(({ id }) => id !== null && outline.depthOf(id) > deepestNesting);
  tooDeep?.error([], `it is nested in more than ${deepestNesting} constructs`);
};

const hasStop: DocumentRule = ({ steps, warning }) => {
  if (steps.length === 0 || steps.some(({ type }) => type === "Stop")) return;
  warning(["steps"], "no Stop found");
};

const warnsOfCycles: DocumentRule = ({ steps, outline }) => {
  const byId = new Map(steps.map((step) => [step.id, step]));
  for (const cycle of outline.cycles) {
    const members = new Set(cycle);
    if (cycle.some((id) => childrenAmong(members, id, outline).length > 0)) continue;
    const [first = "", ...others] = cycle;
    const through = others.slice(0, 5).map((id) => quoted(id));
    const more = others.length > 5 ? ", …" : "";
    const way = through.length > 0 ? ` through ${through.join(", ")}${more}` : "";
    const text = `it leads back to itself${way}: only the limit on rounds ends this cycle`;
    byId.get(first)?.warning(["next"], text);
  }
};

/** The maximum number of steps in loops to visit. Beyond it, the check reports no further warnings. */
const mostVisits = 200_000;

// A resume evaluates a loop's source again, so a body that writes the source would change the loop.
const warnsOfSourcesWrittenInLoops: DocumentRule = ({ steps, outline }) => {
  const written = new Map(steps.map((step) => [step.id ?? "", variablesWrittenBy(step)]));
  let visits = 0;
  for (const step of steps) {
    const names = new Set(sourceNames(step));
    if (names.size === 0 || step.id === null) continue;
    const body = new Set(childrenOf(step.id, outline).map(({ to }) => to));
    for (const id of body) {
      if ((visits += 1) > mostVisits) return;
      const name = written.get(id)?.find((one) => names.has(one));
      if (name !== undefined) {
        const why = "a resumed loop would iterate over a different list";
        step.warning(["source"], `source: ${quoted(id)} in the loop writes ${name}: ${why}`);
        break;
      }
      for (const { to } of outline.referencesOf(id)) if (to !== step.id) body.add(to);
    }
  }
};

function sourceNames({ type, fields: { source } }: CheckedStep): string[] {
  if (type !== "Loop" || typeof source !== "string" || !/^=(?!=)/.test(source)) return [];
  return namesIn(source.slice(1)).filter((name) => name.startsWith("$"));
}

export const flowRules: readonly DocumentRule[] = [
  breaksAreInLoops,
  constructsDoNotContainThemselves,
  hasEntry,
  reachesAll,
  nestsNotTooDeep,
  hasStop,
  warnsOfCycles,
  warnsOfSourcesWrittenInLoops,
];
