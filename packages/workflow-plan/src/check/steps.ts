import type { DocumentProblem } from "@uncaged/workflow/document";
import { eachText, malformedIn, referencesIn } from "../reference/reference.ts";

/** A violation in a plan, with its place in words and as a path. `step` is the step's id. */
export type PlanProblem = DocumentProblem & { step: string | null; field: string };

/** A step as given, with unchecked types. `name` identifies it in messages. */
export type Given = {
  index: number;
  name: string;
  id: string | null;
  description: string;
  dependsOn: string[];
  inputs: unknown;
};

/** Returns the steps of a possible plan. A value that is not a list has no steps. */
export function givenSteps(value: unknown): Given[] {
  const { steps } = (value ?? {}) as { steps?: unknown };
  if (!Array.isArray(steps)) return [];
  return steps.map((step: unknown, index) => {
    const { depends_on, description, id, inputs } = (step ?? {}) as Record<string, unknown>;
    const isNamed = typeof id === "string" && id !== "";
    return {
      index,
      name: isNamed ? id.slice(0, 80) : `#${index + 1}`,
      id: isNamed ? id : null,
      description: typeof description === "string" ? description : "",
      dependsOn: Array.isArray(depends_on)
        ? depends_on.filter((one): one is string => typeof one === "string")
        : [],
      inputs,
    };
  });
}

/** Checks the steps' ids, dependencies and references. */
export function stepProblems(steps: readonly Given[]): PlanProblem[] {
  const ids = new Set(steps.flatMap(({ id }) => id ?? []));
  return [
    ...twins(steps),
    ...steps.flatMap((step) => [...dependencyProblems(step, ids), ...inputProblems(step)]),
    ...cycles(steps),
  ];
}

/** Warns of parts of a step that its author probably did not intend. */
export function stepWarnings(steps: readonly Given[]): PlanProblem[] {
  const ids = new Set(steps.flatMap(({ id }) => id ?? []));
  return steps.flatMap((step) => {
    const warnings: PlanProblem[] = [];
    const [found] = referencesIn(step.description);
    const advice = literalAdvice(step.description, ids);
    if (found) {
      const message = `${found.text} stays as it is here: references are resolved in inputs only`;
      warnings.push(problem(step, ["description"], message));
    } else if (advice !== null) {
      const message = `${advice} in an input: references are resolved in inputs only`;
      warnings.push(problem(step, ["description"], message));
    }
    eachText(step.inputs, (text, at) => {
      const what = literalAdvice(text, ids);
      if (what !== null) warnings.push(problem(step, ["inputs", ...at], what));
    });
    return warnings;
  });
}

const namePath = String.raw`(\$?[\p{L}_][\w-]*(?:\.[\w-]+)*)`;
const placeholder = new RegExp(
  String.raw`(?<!\$)\{\{\s*${namePath}\s*\}\}|\$\{\s*${namePath}\s*\}`,
  "gu",
);
const expression = new RegExp(String.raw`^\s*=(?!=)\s*${namePath}\s*$`, "u");

/**
 * Describes literal text that is probably meant as a reference: `{{x}}`, or `${x}` and `=x` if `x` is a step or the
 * trigger's data. Returns null for any other text.
 */
function literalAdvice(text: string, ids: ReadonlySet<string>): string | null {
  const [, whole = ""] = expression.exec(text) ?? [];
  const meant = referenceFor(whole, ids);
  if (meant !== null) return `${show(text)} stays as it is; write ${meant}`;
  for (const [found, braces, dollar = ""] of text.matchAll(placeholder)) {
    const reference = referenceFor(braces ?? dollar, ids);
    if (reference === null && braces === undefined) continue;
    return `${show(found)} stays as it is; write ${reference ?? "$steps.<id>.output or $trigger_data"}`;
  }
  return null;
}

/** Returns the reference to a step or the trigger's data that a name probably means; null for any other name. */
function referenceFor(name: string, ids: ReadonlySet<string>): string | null {
  const [first = "", second = ""] = name.replace(/^\$/, "").split(".");
  if (/^trigger(_data)?$/i.test(first)) return "$trigger_data";
  const id = first === "steps" ? second : first;
  return ids.has(id) ? `$steps.${id}.output` : null;
}

function problem(step: Given, path: (string | number)[], message: string): PlanProblem {
  const field = path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`))
    .join("")
    .slice(1);
  const { index, name } = step;
  const whole = `step ${JSON.stringify(name)}: ${field}: ${message}`;
  return { path: ["steps", index, ...path], step: name, field, message: whole };
}

const show = (text: string): string => JSON.stringify(text.slice(0, 80));

function twins(steps: readonly Given[]): PlanProblem[] {
  const first = new Map<string, number>();
  return steps.flatMap((step) => {
    const { id, index } = step;
    if (id === null) return [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    if (earlier === undefined) return [];
    return [problem(step, ["id"], `duplicate: steps ${earlier + 1} and ${index + 1} have it`)];
  });
}

function dependencyProblems(step: Given, ids: ReadonlySet<string>): PlanProblem[] {
  const { dependsOn, id } = step;
  const seen = new Set<string>();
  return dependsOn.flatMap((one, at) => {
    const path = ["depends_on", at];
    if (seen.has(one)) return [problem(step, path, `duplicate ${show(one)}`)];
    seen.add(one);
    if (one === id) return [problem(step, path, "the step depends on itself")];
    if (!ids.has(one)) return [problem(step, path, `no step ${show(one)} found`)];
    return [];
  });
}

function inputProblems(step: Given): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const { dependsOn, id, inputs } = step;
  eachText(inputs, (text, at) => {
    const path = ["inputs", ...at];
    for (const { reason, text: found } of malformedIn(text)) {
      problems.push(problem(step, path, `${show(found)} ${reason}`));
    }
    for (const { step: named, text: found } of referencesIn(text)) {
      if (named === undefined || dependsOn.includes(named)) continue;
      const reason =
        named === id
          ? "refers to the step itself"
          : `refers to a step that is not in depends_on: add ${show(named)} there`;
      problems.push(problem(step, path, `${show(found)} ${reason}`));
    }
  });
  return problems;
}

/** Returns one problem per cycle, at its first step. */
function cycles(steps: readonly Given[]): PlanProblem[] {
  const byId = new Map(steps.flatMap((step) => (step.id === null ? [] : [[step.id, step]])));
  const done = new Set<string>();
  const problems: PlanProblem[] = [];
  for (const start of steps) {
    const cycle = start.id === null ? null : cycleFrom(start.id, byId, done);
    if (cycle === null) continue;
    const shown = [...cycle, cycle[0]].join(" -> ");
    const at = byId.get(cycle[0] ?? "") ?? start;
    problems.push(problem(at, ["depends_on"], `the steps depend on each other: ${shown}`));
  }
  return problems;
}

/** Finds a cycle among the direct and indirect dependencies of a step. Adds steps without a cycle to `done`. */
function cycleFrom(
  start: string,
  steps: ReadonlyMap<string, Given>,
  done: Set<string>,
): string[] | null {
  const path: { id: string; rest: string[] }[] = [];
  const enter = (id: string): string[] | null => {
    const at = path.findIndex((one) => one.id === id);
    if (at >= 0) return path.slice(at).map((one) => one.id);
    const own = (steps.get(id)?.dependsOn ?? []).filter((one) => one !== id && steps.has(one));
    if (!done.has(id)) path.push({ id, rest: own });
    return null;
  };
  enter(start);
  for (let last = path.at(-1); last; last = path.at(-1)) {
    const next = last.rest.shift();
    if (next === undefined) {
      done.add(last.id);
      path.pop();
      continue;
    }
    const cycle = enter(next);
    if (cycle === null) continue;
    for (const { id } of path) done.add(id);
    return cycle;
  }
  return null;
}
