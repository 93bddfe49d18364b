import type { Step, ThreadInput } from "@uncaged/workflow";

const lists = new WeakMap<object, Step[]>();

/**
 * Returns the list of steps whose spending counts toward the limits of a durable workflow. The list begins with the
 * input's steps. The work of a step adds its step to the list before the commit, so that concurrent work counts the
 * step's spending.
 */
export function stepsOf(given: ThreadInput["steps"]): Step[] {
  const known = lists.get(given);
  if (known) return known;
  const list = given.map((one): Step => ({ timestamp: 0, ...one }));
  lists.set(given, list);
  return list;
}
