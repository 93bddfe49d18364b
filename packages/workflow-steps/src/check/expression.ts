import { isWorkflowError } from "@uncaged/workflow";
import { namesIn, problemIn } from "../expression/expression.ts";
import { expressionsIn, parseTarget, type Target } from "../target/target.ts";
import { isPlain } from "../expression/value.ts";
import { hasField } from "../document/format.ts";
import { itemsOf, quoted, showPath, type ViolationPath } from "../document/form.ts";
import type { CheckedStep, Subject } from "./subject.ts";

/** An expression without its `=`, and its path. */
type Found = { source: string; path: ViolationPath };

const conditions = ["if", "while"];
const values = [
  ...["print", "in", "input", "source", "value", "reason", "model", "provider", "stream"],
  ...["tool", "toolName", "timeout"],
];

/** The names that every step knows, beside params and variables. */
const known: ReadonlySet<string> = new Set(
  "SYSVAR _item _index _iterDir _result _meta _error _toolResult".split(" "),
);

/** Each expression can be read, and each name in it is declared. */
export function hasGoodExpressions(step: CheckedStep, subject: Subject): void {
  for (const place of expressionsOf(step)) checkExpression(place, step, subject);
}

/** Reports what is wrong with one expression of a step. */
function checkExpression(
  { source, path }: Found,
  { error, warning }: CheckedStep,
  { declared }: Subject,
): void {
  const problem = problemIn(source);
  if (problem) {
    const where = `at character ${problem.offset + 1} of ${quoted(source)}`;
    error(path, `${showPath(path)}: ${problem.message}, ${where}`);
    return;
  }
  for (const name of namesIn(source)) {
    if (name.startsWith("$")) {
      if (declared.vars.has(name)) continue;
      error(path, `${showPath(path)}: ${quoted(name)} is not declared in registry.vars`);
    } else if (!declared.params.has(name) && !known.has(name)) {
      warning(path, `${showPath(path)}: ${quoted(name)} is not declared in registry.params`);
    }
  }
}

function* expressionsOf(step: CheckedStep): Generator<Found> {
  const { type, fields } = step;
  if (type === null) return;
  for (const name of conditions) {
    if (hasField(type, name)) yield* condition(fields[name], [name]);
  }
  for (const name of values) {
    if (hasField(type, name)) yield* expressionsWithin(fields[name], [name], step);
  }
  if (type === "Write" || type === "Download")
    yield* expressionsWithin(fields.target, ["target"], step);
  if (hasField(type, "out") && typeof fields.out === "object") {
    yield* expressionsWithin(fields.out, ["out"], step);
  }
  if (type !== "Branch") return;
  for (const [index, pair] of itemsOf(fields.cases).entries()) {
    const [when] = itemsOf(pair);
    if (when !== "ELSE") yield* condition(when, ["cases", index, 0]);
  }
}

function* expressionsWithin(
  value: unknown,
  home: ViolationPath,
  step: CheckedStep,
): Generator<Found> {
  for (const leaf of leavesIn(value)) {
    if (leaf === null) {
      step.error(home, `${showPath(home)} is nested more than ${deepestValue} deep`);
      return;
    }
    if (/^=(?!=)/.test(leaf.text)) {
      yield { source: leaf.text.slice(1), path: [...home, ...leaf.path()] };
    }
  }
}

// Here a text without "=" is an expression too.
function* condition(value: unknown, path: ViolationPath): Generator<Found> {
  if (typeof value !== "string" || value.startsWith("==")) return;
  yield { source: value.startsWith("=") ? value.slice(1) : value, path };
}

/** A text inside a value, with the keys and indexes that lead to it. */
type Leaf = { text: string; path: () => (string | number)[] };

type Spot = { key: string | number; within: Spot | null };

/** The deepest nesting that values in steps may have. */
const deepestValue = 1000;

/**
 * The texts in a value, in order. A value that is nested too deep gives null in place of the texts there.
 * An object that is in it twice is read once, so a cycle has an end.
 */
function* leavesIn(value: unknown): Generator<Leaf | null> {
  const seen = new Set<object>();
  const waiting: { value: unknown; place: Spot | null; depth: number }[] = [
    { value, place: null, depth: 0 },
  ];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { value: inner, place, depth } = one;
    if (typeof inner === "string") yield { text: inner, path: () => pathTo(place) };
    if (typeof inner !== "object" || inner === null || seen.has(inner)) continue;
    seen.add(inner);
    if (depth >= deepestValue) {
      yield null;
      continue;
    }
    const items: [string | number, unknown][] = Array.isArray(inner)
      ? inner.map((item: unknown, index) => [index, item])
      : Object.entries(inner);
    for (const [key, item] of items.toReversed()) {
      waiting.push({ value: item, place: { key, within: place }, depth: depth + 1 });
    }
  }
}

function pathTo(place: Spot | null): (string | number)[] {
  const path: (string | number)[] = [];
  for (let one = place; one; one = one.within) path.push(one.key);
  return path.toReversed();
}

/** A target as a step has it. `kind` is what the field asks for, null where both will do. */
type Written = { text: string; path: ViolationPath; kind: Target["kind"] | null };

/** What a step writes to can be read, is what the field asks for, and is declared. */
export function hasGoodTargets(step: CheckedStep, subject: Subject): void {
  for (const written of targetsOf(step)) checkTarget(written, step, subject);
}

/** The variables that a step writes, by its own targets. */
export function variablesWrittenBy(step: CheckedStep): string[] {
  return targetsOf(step).flatMap(({ text }) => {
    const target = parsed(text);
    return typeof target === "object" && target.kind === "variable" ? [target.name] : [];
  });
}

function checkTarget({ text, path, kind }: Written, step: CheckedStep, subject: Subject): void {
  const where = showPath(path.slice(0, 1));
  const target = parsed(text);
  if (typeof target === "string") {
    step.error(path, where === "target" ? target : `${where}: ${target}`);
    return;
  }
  if (kind !== null && kind !== target.kind) {
    const wanted = kind === "file" ? "a path such as /out/report.md" : "a path such as $result";
    step.error(path, `${where} must be ${wanted}, not ${quoted(text)}`);
    return;
  }
  if (target.kind === "variable" && !subject.declared.vars.has(target.name)) {
    step.error(path, `${where}: ${quoted(target.name)} is not declared in registry.vars`);
  }
  for (const source of expressionsIn(target)) checkExpression({ source, path }, step, subject);
}

function parsed(text: string): Target | string {
  try {
    return parseTarget(text);
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return error.message;
  }
}

function targetsOf({ type, fields }: CheckedStep): Written[] {
  if (type === null) return [];
  const found: Written[] = [];
  const add = (text: unknown, path: ViolationPath, kind: Written["kind"]) => {
    if (typeof text === "string" && text !== "") found.push({ text, path, kind });
  };
  if (type === "Set") add(fields.target, ["target"], "variable");
  if (type === "Pause") add(fields.resumeResultTarget, ["resumeResultTarget"], "variable");
  if (type === "Write") add(fileIn(fields.target), ["target"], "file");
  if (hasField(type, "out")) {
    if (isPlain(fields.out))
      for (const key of Object.keys(fields.out)) add(key, ["out", key], null);
    else add(fields.out, ["out"], null);
  }
  return found;
}

// A Write's target is a path or an expression that gives one; the path may do without its slash.
function fileIn(target: unknown): string | null {
  if (typeof target !== "string" || target === "" || /^=(?!=)/.test(target)) return null;
  return /^[/$]/.test(target) ? target : `/${target}`;
}
