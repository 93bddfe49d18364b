import { isWorkflowError } from "@uncaged/workflow";
import { itemsOf, quoted, showPath, type ViolationPath } from "../document/form.ts";
import { hasField } from "../document/format.ts";
import { namesIn, problemIn } from "../expression/expression.ts";
import { isPlain } from "../expression/value.ts";
import { literalAdvice } from "./literal.ts";
import { expressionsIn, parseTarget, type Target } from "../document/target.ts";
import type { CheckedStep, StepRule, Subject } from "./subject.ts";

type Found = { source: string; path: ViolationPath };
/** A text that may be an expression. Only a condition is an expression without a leading `=`. */
type Text = { text: string; path: ViolationPath; isCondition?: true };

const conditions = ["if", "while"];
const values = [
  ...["print", "in", "input", "source", "value", "reason", "model", "provider", "stream"],
  ...["tool", "toolName", "timeout"],
];

/** The names that expressions of every step can use, besides params and variables. */
const known: ReadonlySet<string> = new Set(
  "SYSVAR _item _index _iterDir _result _meta _error _toolResult".split(" "),
);

export const hasGoodExpressions: StepRule = (step, subject) => {
  for (const { isCondition = false, path, text } of textsOf(step)) {
    const isExpression = /^=(?!=)/.test(text) || (isCondition && !text.startsWith("=="));
    if (isExpression) checkExpression({ source: text.replace(/^=/, ""), path }, step, subject);
    else {
      const advice = literalAdvice(text, path, (name) => knownAs(name, subject));
      if (advice !== null) step.warning(path, `${showPath(path)}: ${advice}`);
    }
  }
};

/**
 * Returns the spelling of a name in expressions: as a param, a variable or an engine name; null for an unknown name.
 */
function knownAs(name: string, { declared }: Subject): string | null {
  if (declared.params.has(name) || declared.vars.has(name) || known.has(name)) return name;
  return declared.vars.has(`$${name}`) ? `$${name}` : null;
}

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
    const text = `${showPath(path)}: ${quoted(name)} is not declared in registry`;
    if (name.startsWith("$")) {
      if (!declared.vars.has(name)) error(path, `${text}.vars`);
    } else if (!declared.params.has(name) && !known.has(name)) warning(path, `${text}.params`);
  }
}

function* textsOf(step: CheckedStep): Generator<Text> {
  const { type, fields } = step;
  if (type === null) return;
  for (const name of conditions) {
    if (hasField(type, name)) yield* condition(fields[name], [name]);
  }
  for (const name of values) {
    if (hasField(type, name)) yield* textsWithin(fields[name], [name], step);
  }
  if (type === "Write" || type === "Download") {
    yield* textsWithin(fields.target, ["target"], step);
  }
  if (hasField(type, "out") && typeof fields.out === "object") {
    yield* textsWithin(fields.out, ["out"], step);
  }
  if (type !== "Branch") return;
  for (const [index, pair] of itemsOf(fields.cases).entries()) {
    const [when] = itemsOf(pair);
    if (when !== "ELSE") yield* condition(when, ["cases", index, 0]);
  }
}

function* condition(value: unknown, path: ViolationPath): Generator<Text> {
  if (typeof value === "string") yield { text: value, path, isCondition: true };
}

const deepestValue = 1000;

/** Yields the texts in a value, in order. Reads each object once, so it ends for a cycle too. */
function* textsWithin(
  value: unknown,
  path: ViolationPath,
  step: CheckedStep,
  read = { objects: new Set<object>(), isTooDeep: false },
): Generator<Text> {
  if (typeof value === "string") yield { text: value, path };
  if (typeof value !== "object" || value === null || read.objects.has(value)) return;
  if (path.length > deepestValue) {
    const [name = ""] = path;
    if (!read.isTooDeep) step.error([name], `${name} is nested more than ${deepestValue} deep`);
    read.isTooDeep = true;
    return;
  }
  read.objects.add(value);
  const items = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, item] of items) yield* textsWithin(item, [...path, key], step, read);
}

/** A target in a step. `kind` is the kind of target that the field requires; null if the field allows both kinds. */
type Written = { text: string; path: ViolationPath; kind: Target["kind"] | null };

export const hasGoodTargets: StepRule = (step, subject) => {
  for (const written of targetsOf(step)) checkTarget(written, step, subject);
};

export const variablesWrittenBy = (step: CheckedStep): string[] =>
  targetsOf(step).flatMap(({ text }) => {
    const target = parsed(text);
    return typeof target === "object" && target.kind === "variable" ? [target.name] : [];
  });

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

/** Returns the parsed target, or the problem of an invalid target. */
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
  const { target, resumeResultTarget, out } = fields;
  const found: { text: unknown; path: ViolationPath; kind: Written["kind"] }[] = [];
  if (type === "Set") found.push({ text: target, path: ["target"], kind: "variable" });
  if (type === "Pause") {
    found.push({ text: resumeResultTarget, path: ["resumeResultTarget"], kind: "variable" });
  }
  // A Write's target may be an expression, and its path may omit the slash.
  if (type === "Write" && typeof target === "string" && !/^(=(?!=)|$)/.test(target)) {
    const text = /^[/$]/.test(target) ? target : `/${target}`;
    found.push({ text, path: ["target"], kind: "file" });
  }
  if (hasField(type, "out") && isPlain(out)) {
    found.push(...Object.keys(out).map((key) => ({ text: key, path: ["out", key], kind: null })));
  } else if (hasField(type, "out")) found.push({ text: out, path: ["out"], kind: null });
  return found.filter((one): one is Written => typeof one.text === "string" && one.text !== "");
}
