import { WorkflowError } from "@uncaged/workflow";

// A log holds 1,000 levels; the step around a value takes some of them.
const deepest = 950;

/**
 * A copy of a value as a variable may hold it: what its JSON would be.
 *
 * @throws WorkflowError `VALUE_NOT_JSON` for a value inside itself, one nested over 950 levels, a
 * function, a symbol and a BigInt.
 */
export function writable(value: unknown, name: string): unknown {
  const isPlainText = typeof value === "string" && value.isWellFormed();
  return isPlainText ? value : jsonValue(value, name, 0);
}

function jsonValue(value: unknown, name: string, depth: number): unknown {
  if (depth > deepest) throw notJson(name, `has more than ${deepest} levels, or contains itself`);
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "undefined":
      return null;
    case "object":
      return value === null ? null : partsOf(value, name, depth);
    default:
      throw notJson(name, `holds a ${typeof value}`);
  }
}

function partsOf(value: object, name: string, depth: number): unknown {
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return jsonValue(value.toJSON(), name, depth + 1);
  }
  if (Array.isArray(value)) return value.map((item) => jsonValue(item, name, depth + 1));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.map(([key, item]) => [key.toWellFormed(), jsonValue(item, name, depth + 1)]),
  );
}

const notJson = (name: string, what: string): WorkflowError =>
  new WorkflowError({
    code: "VALUE_NOT_JSON",
    kind: "failed",
    message: `what ${name} is to get ${what}, and JSON can't hold that`,
    hint: "write a value that JSON can hold",
  });
