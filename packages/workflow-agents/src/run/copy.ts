import type { ThreadContext } from "@uncaged/workflow";

/** The originals of copies. */
const originals = new WeakMap<object, object>();

/** Returns the original of a copy, and any other value unchanged. */
export const originalOf = <T extends object>(one: T): T =>
  (originals.get(one) as T | undefined) ?? one;

/** Returns a deep copy, or the value itself if it cannot be cloned. */
export function copyOf<T>(given: T): T {
  try {
    return structuredClone(given);
  } catch {
    // Only code that calls a tool directly can pass such a value.
    return given;
  }
}

const parts = ["start", "steps", "allSteps", "params", "options", "env"] as const;

/**
 * Returns a copy of a thread's context for a tool, so that the tool's changes do not affect others. Copies each part at
 * its first access.
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
