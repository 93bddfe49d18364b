import { isWorkflowError } from "@uncaged/workflow";
import { expressionsIn, parseTarget, type Target } from "../target/target.ts";
import { checkExpression } from "./expression.ts";
import { type FaultPath, quoted, showPath } from "./fault.ts";
import { hasField } from "./field.ts";
import { isRecord } from "./form.ts";
import type { CheckedStep, Subject } from "./subject.ts";

/** A target as a step has it. `kind` is what the field asks for, null where both will do. */
type Written = { text: string; path: FaultPath; kind: Target["kind"] | null };

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
  const add = (text: unknown, path: FaultPath, kind: Written["kind"]) => {
    if (typeof text === "string" && text !== "") found.push({ text, path, kind });
  };
  if (type === "Set") add(fields.target, ["target"], "variable");
  if (type === "Pause") add(fields.resumeResultTarget, ["resumeResultTarget"], "variable");
  if (type === "Write") add(fileIn(fields.target), ["target"], "file");
  if (hasField(type, "out")) {
    if (isRecord(fields.out))
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
