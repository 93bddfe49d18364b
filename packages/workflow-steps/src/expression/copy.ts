import { WorkflowError } from "@uncaged/workflow";
import { isPlain } from "./value.ts";

const deepest = 1000;

/**
 * A deep copy of arrays and plain objects, each leaf as `leaf` makes it. A value of a class is kept as
 * it is. Throws a `WorkflowError` (`VALUE_TOO_DEEP`) over 1,000 levels, which is also what a cycle has.
 */
export function mapped(value: unknown, leaf: (value: unknown) => unknown, depth = 0): unknown {
  if (depth > deepest) throw tooDeep();
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf, depth + 1));
  if (!isPlain(value)) return leaf(value);
  // fromEntries defines what it is given: a key `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, leaf, depth + 1)]),
  );
}

/** A deep copy of a value, as {@link mapped} makes it. */
export const copyOf = (value: unknown): unknown => mapped(value, (leaf) => leaf);

const tooDeep = (): WorkflowError =>
  new WorkflowError({
    code: "VALUE_TOO_DEEP",
    kind: "failed",
    message: `a value has more than ${deepest} levels, or contains itself`,
    hint: "use values that JSON can hold, less deeply nested",
  });
