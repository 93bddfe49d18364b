import type { ThreadContext } from "@uncaged/workflow";

/** The original of each copy. */
const originals = new WeakMap<object, object>();

/** Returns the original of a copy, and any other value unchanged. */
export const originalOf = <T extends object>(one: T): T =>
  (originals.get(one) as T | undefined) ?? one;

/** Returns a mutable copy. Changes don't reach the original. */
export function copyOf<T>(given: T): T {
  try {
    return structuredClone(given);
  } catch {
    // A value that cannot be cloned comes from code that calls a tool directly.
    return given;
  }
}

const parts = ["start", "steps", "allSteps", "params", "options", "env"] as const;

/**
 * Returns a copy of a thread for a tool: the tool's changes do not affect others. Each part is copied on first access.
 */
export function threadCopy(thread: ThreadContext): ThreadContext {
  const copy = { ...thread };
  for (const part of parts) {
    const given: unknown = thread[part];
    if (typeof given !== "object" || given === null) continue;
    let made: object | null = null;
    const get = (): object => {
      if (made === null) {
        made = copyOf(given);
        if (made !== given) originals.set(made, originalOf(given));
      }
      return made;
    };
    Object.defineProperty(copy, part, { enumerable: true, get });
  }
  originals.set(copy, originalOf(thread));
  return Object.freeze(copy);
}
