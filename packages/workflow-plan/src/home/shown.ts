import { ExecutorError } from "../error/error.ts";

const shortestHash = 8;

/** The error of a plan that is not any more what was shown. */
export const changed = (id: string): ExecutorError =>
  new ExecutorError(`this plan has changed: ${id}`, { hint: "look at it again, then confirm it" });

/** @throws ExecutorError when what was shown, by the beginning of its hash, is not the plan with this hash. */
export function checkShown(id: string, hash: string, shown: string): void {
  if (shown.length >= shortestHash && hash.startsWith(shown)) return;
  throw changed(id);
}
