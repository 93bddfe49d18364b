import type { ThreadContext } from "@uncaged/workflow";

/** What each copy was made of. */
const originals = new WeakMap<object, object>();

/** What a copy was made of; anything else as it is. */
export const originalOf = <T extends object>(one: T): T =>
  (originals.get(one) as T | undefined) ?? one;

/** A value that may be changed: what it was copied from stays as it was. */
export function copyOf<T>(given: T): T {
  try {
    return structuredClone(given);
  } catch {
    // What no model and no record can have said: code that calls a tool itself may give it anything.
    return given;
  }
}

const parts = ["start", "steps", "allSteps", "params", "options", "env"] as const;

/**
 * A thread for a tool: what it changes of the prompt, the steps and the rest changes nothing for others. Each part is copied
 * when it is first looked at.
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
