import { namesIn, problemIn } from "../expression/expression.ts";
import { type FaultPath, quoted, showPath } from "./fault.ts";
import { hasField } from "./field.ts";
import { itemsOf } from "./form.ts";
import { deepestValue, leavesIn } from "./leaf.ts";
import type { CheckedStep, Subject } from "./subject.ts";

/** An expression without its `=`, and where it stands. */
type Place = { source: string; path: FaultPath };

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

/** Tells what is wrong with one expression of a step. */
export function checkExpression(
  { source, path }: Place,
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

function* expressionsOf(step: CheckedStep): Generator<Place> {
  const { type, fields } = step;
  if (type === null) return;
  for (const name of conditions) {
    if (hasField(type, name)) yield* condition(fields[name], [name]);
  }
  for (const name of values) {
    if (hasField(type, name)) yield* expressionsIn(fields[name], [name], step);
  }
  if (type === "Write" || type === "Download")
    yield* expressionsIn(fields.target, ["target"], step);
  if (hasField(type, "out") && typeof fields.out === "object") {
    yield* expressionsIn(fields.out, ["out"], step);
  }
  if (type !== "Branch") return;
  for (const [index, pair] of itemsOf(fields.cases).entries()) {
    const [when] = itemsOf(pair);
    if (when !== "ELSE") yield* condition(when, ["cases", index, 0]);
  }
}

function* expressionsIn(value: unknown, home: FaultPath, step: CheckedStep): Generator<Place> {
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
function* condition(value: unknown, path: FaultPath): Generator<Place> {
  if (typeof value !== "string" || value.startsWith("==")) return;
  yield { source: value.startsWith("=") ? value.slice(1) : value, path };
}
