import { evaluate, type Scope } from "../expression/expression.ts";
import { refusedSegment, unresolved } from "./error.ts";
import type { Part, Segment, Target } from "./target.ts";

/** A target as it is now: `path` begins with the variable's `$name`; a file's has no leading slash. */
export type Place =
  | { kind: "variable"; path: [string, ...(string | number)[]] }
  | { kind: "file"; path: string };

/**
 * The place that a target names. A number in `[…]` is an index, a text a key.
 *
 * Throws a `WorkflowError` (`TARGET_UNRESOLVED`) when a placeholder has no value, or one that is neither
 * text nor number, and an `ExpressionError` when one can't be evaluated.
 */
export function resolveTarget(target: Target, scope: Scope): Place {
  if (target.kind === "file") {
    return { kind: "file", path: joined(target.parts, target.source, scope) };
  }
  const path = target.segments.map((segment) => segmentIn(segment, target.source, scope));
  return { kind: "variable", path: [target.name, ...path] };
}

function segmentIn(segment: Segment, source: string, scope: Scope): string | number {
  const resolved =
    segment.kind === "key"
      ? joined(segment.parts, source, scope)
      : indexFrom(segment.expression, source, scope);
  if (refusedSegment(resolved)) throw unresolved(source, `the key ${resolved} is refused`);
  return resolved;
}

function indexFrom(expression: string, source: string, scope: Scope): string | number {
  const value = evaluate(expression, scope);
  if (typeof value === "string" && value !== "") return value;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw unresolved(source, `[${expression}] is ${kindOf(value)}, no index and no key`);
}

function joined(parts: readonly Part[], source: string, scope: Scope): string {
  const text = parts
    .map((part) => ("text" in part ? part.text : textFrom(part.expression, source, scope)))
    .join("");
  if (text === "") throw unresolved(source, "all of it is empty");
  return text;
}

function textFrom(expression: string, source: string, scope: Scope): string {
  const value = evaluate(expression, scope);
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw unresolved(source, `{${expression}} is ${kindOf(value)}`);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "without a value";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return "an empty text";
  return Array.isArray(value) ? "an array" : `of type ${typeof value}`;
}
