import { BREAK, RETURN } from "../document/document.ts";
import { namesIn } from "../expression/expression.ts";
import { type Outline, type Reference, referencesOf } from "../outline/outline.ts";
import { variablesWrittenBy } from "./expression.ts";
import { itemsOf, quoted, shown, showPath } from "../document/form.ts";
import {
  aStep,
  type CheckedStep,
  type DocumentRule,
  type StepRule,
  type Subject,
} from "./subject.ts";

const deepestNesting = 100;

/** The rules for the way that a run takes through a document. */
export const flowRules: readonly DocumentRule[] = [
  hasEntry,
  reachesAll,
  nestsNotTooDeep,
  hasStop,
  tellsCycles,
];

/** A chain declares where it goes on. */
export const hasNext: StepRule = ({ type, fields, warning }) => {
  if (type === "Stop" || type === null || fields.next !== undefined) return;
  warning([], "next is missing, so the chain ends here, as with RETURN");
};

function hasEntry({ steps, outline, error }: Subject): void {
  if (outline.steps.size === 0 || outline.entries.length > 0 || steps.length === 0) return;
  error(
    ["steps"],
    "there is no entry: each step is named by another, so put a Noop before the first",
  );
}

function reachesAll({ steps, outline }: Subject): void {
  if (outline.entries.length === 0) return;
  const reached = new Set(outline.entries);
  for (const id of reached) {
    for (const { to } of outline.referencesOf(id)) reached.add(to);
  }
  for (const { id, error } of steps) {
    if (id !== null && !reached.has(id)) error([], "no way leads here from an entry");
  }
}

function nestsNotTooDeep({ steps, outline }: Subject): void {
  const tooDeep = steps.find(({ id }) => id !== null && outline.depthOf(id) > deepestNesting);
  tooDeep?.error([], `it lies in more than ${deepestNesting} constructs`);
}

function hasStop({ steps, warning }: Subject): void {
  if (steps.length === 0 || steps.some(({ type }) => type === "Stop")) return;
  warning(["steps"], "no step is a Stop");
}

function tellsCycles({ steps, outline }: Subject): void {
  const byId = new Map(steps.map((step): [string | null, CheckedStep] => [step.id, step]));
  for (const cycle of outline.cycles) {
    const [first = "", ...others] = cycle;
    if (containsItself(cycle, outline)) continue;
    const through = others.slice(0, 5).map((id) => quoted(id));
    const more = others.length > 5 ? ", …" : "";
    const way = through.length > 0 ? ` through ${through.join(", ")}${more}` : "";
    byId
      .get(first)
      ?.warning(["next"], `it leads back to itself${way}: the limit on rounds alone bounds that`);
  }
}

/** Each step that a step names is there. */
export const namesStepsThatExist: StepRule = ({ fields, error }, { outline }) => {
  for (const { to, path } of referencesOf(fields)) {
    if (outline.steps.has(to)) continue;
    const isEnd = to === RETURN || to === BREAK;
    const why = isEnd ? `${to} can only stand in next` : `there is no step ${quoted(to)}`;
    error(path, `${showPath(path)}: ${why}`);
  }
};

/** Children are identified by their ids. */
export const namesEachChildOnce: StepRule = ({ fields, error }) => {
  const seen = new Set<unknown>();
  for (const [index, child] of itemsOf(fields.children).entries()) {
    if (typeof child === "string" && seen.has(child)) {
      error(["children", index], `children[${index}]: ${quoted(child)} is named twice`);
    }
    seen.add(child);
  }
};

/** A BREAK is in a loop: in what its children lead to. */
export const breaksAreInLoops: DocumentRule = ({ steps, outline }) => {
  const inLoop = new Set<string>();
  for (const { id, type } of steps) {
    if (id === null || type !== "Loop") continue;
    for (const { kind, to } of outline.referencesOf(id)) if (kind === "child") inLoop.add(to);
  }
  for (const id of inLoop) {
    for (const { to } of outline.referencesOf(id)) inLoop.add(to);
  }
  for (const { id, fields, error } of steps) {
    if (fields.next === BREAK && id !== null && !inLoop.has(id)) {
      error(["next"], "next: BREAK ends a loop, and this step is in none");
    }
  }
};

/** A step does not run inside of itself: only a Branch may lead back to where it was reached from. */
export const constructsDoNotContainThemselves: DocumentRule = ({ steps, outline }) => {
  const cycleOf = new Map<string, ReadonlySet<string>>();
  for (const cycle of outline.cycles) {
    const members = new Set(cycle);
    for (const id of cycle) cycleOf.set(id, members);
  }
  for (const { id, error } of steps) {
    if (id === null) continue;
    for (const { to, path } of childrenAmong(cycleOf.get(id), id, outline)) {
      const why = `${quoted(to)} leads back here, so the step would run inside itself`;
      error(path, `${showPath(path)}: ${why}`);
    }
  }
};

/** Whether a step of a cycle runs inside another of it, or inside itself. */
function containsItself(cycle: readonly string[], outline: Outline): boolean {
  const members = new Set(cycle);
  return cycle.some((id) => childrenAmong(members, id, outline).length > 0);
}

const childrenAmong = (
  members: ReadonlySet<string> | undefined,
  id: string,
  outline: Outline,
): Reference[] =>
  outline.referencesOf(id).filter(({ kind, to }) => kind === "child" && members?.has(to));

/** A Loop goes over a `source` or runs `while`, and then it is serial and has a limit. */
export function loopsOverOneThing({ type, fields, error }: CheckedStep): void {
  if (type !== "Loop") return;
  const { source, mode, maxIterations } = fields;
  if (fields.while === undefined) {
    if (source === undefined) error([], "a Loop needs source or while");
    return;
  }
  if (source !== undefined) error(["while"], "a Loop has source or while, not both");
  if (mode === "parallel") error(["mode"], "a Loop with while can't be parallel");
  if (maxIterations === undefined) error([], "a Loop with while needs maxIterations");
}

/** `ELSE` is the last of the cases. */
export function hasElseLast({ type, fields, error }: CheckedStep): void {
  if (type !== "Branch") return;
  const cases = itemsOf(fields.cases);
  for (const [index, pair] of cases.entries()) {
    if (itemsOf(pair)[0] !== "ELSE" || index === cases.length - 1) continue;
    error(["cases", index], "ELSE must be the last of the cases");
  }
}

/** A Set and a Write say where they write, unless something else is their work. */
export function hasTarget({ type, fields, error, warning }: CheckedStep): void {
  if (type !== "Set" && type !== "Write") return;
  const { target, value, out, children } = fields;
  const hasOther = out !== undefined || (type === "Set" && children !== undefined);
  if (target === undefined) {
    if (!hasOther) error([], `${aStep(type)} needs a target`);
    else if (value !== undefined) warning(["value"], "value has no effect without target");
  } else if (value === undefined) {
    warning([], `value is missing, so ${shown(target)} gets nothing`);
  }
}

/** Loops that lie in each other could ask for their bodies again and again: past this nothing is reported. */
const mostVisits = 200_000;

/**
 * A loop whose body writes what it goes over: the source is evaluated again on resume, and would then be
 * another.
 */
export function warnsOfSourcesWrittenInLoops({ steps, outline }: Subject): void {
  const written = new Map(steps.map((step) => [step.id ?? "", variablesWrittenBy(step)]));
  let visits = 0;
  for (const step of steps) {
    const names = new Set(sourceNames(step));
    if (names.size === 0 || step.id === null) continue;
    const body = new Set<string>();
    for (const { kind, to } of outline.referencesOf(step.id)) if (kind === "child") body.add(to);
    for (const id of body) {
      if ((visits += 1) > mostVisits) return;
      const name = written.get(id)?.find((one) => names.has(one));
      if (name !== undefined) {
        const why = "a resumed loop would go over another list";
        step.warning(["source"], `source: ${quoted(id)} in the loop writes ${name}: ${why}`);
        break;
      }
      for (const { to } of outline.referencesOf(id)) if (to !== step.id) body.add(to);
    }
  }
}

function sourceNames({ type, fields: { source } }: CheckedStep): string[] {
  if (type !== "Loop" || typeof source !== "string" || !/^=(?!=)/.test(source)) return [];
  return namesIn(source.slice(1)).filter((name) => name.startsWith("$"));
}
