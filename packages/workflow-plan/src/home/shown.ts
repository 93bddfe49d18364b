import { ExecutorError } from "../error/error.ts";

const shortestHash = 8;

/** Returns the error of a plan that has changed since it was shown. */
export const changed = (id: string): ExecutorError =>
  new ExecutorError(`this plan has changed: ${id}`, { hint: "look at it again, then confirm it" });

/** @throws ExecutorError when the prefix of the shown plan's hash does not match the plan's hash. */
export function checkShown(id: string, hash: string, shown: string): void {
  if (shown.length >= shortestHash && hash.startsWith(shown)) return;
  throw changed(id);
}
