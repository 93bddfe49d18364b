import { quoted } from "./fault.ts";
import { containsItself } from "./reference.ts";
import type { CheckedStep, DocumentRule, StepRule, Subject } from "./subject.ts";

const deepestNesting = 100;

/** The rules for the way that a run takes through a document. */
export const flowRules: readonly DocumentRule[] = [
  hasEntry,
  reachesAll,
  nestsNotTooDeep,
  hasStop,
  tellsCycles,
];

/** A chain says where it goes on. */
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
