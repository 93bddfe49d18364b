import type { Step, ThreadInput } from "@uncaged/workflow";

const lists = new WeakMap<object, Step[]>();

/**
 * Returns the list of steps to which the spending limits of a run of a durable workflow refer, from the steps of its
 * input. The work of a step adds its step when it ends, before the commit, so that concurrent work counts it.
 */
export function stepsOf(given: ThreadInput["steps"]): Step[] {
  const known = lists.get(given);
  if (known) return known;
  const list = given.map((one): Step => ({ timestamp: 0, ...one }));
  lists.set(given, list);
  return list;
}
