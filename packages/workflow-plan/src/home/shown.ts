import { planChanged } from "./errors.ts";

const shortestHash = 8;

/** Checks that a plan is the shown plan, by a prefix of the shown hash. @throws ExecutorError */
export function checkShown(id: string, hash: string, shown: string): void {
  if (shown.length >= shortestHash && hash.startsWith(shown)) return;
  throw planChanged(id);
}
