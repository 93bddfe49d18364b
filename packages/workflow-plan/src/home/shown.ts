import { planChanged } from "./errors.ts";

const shortestHash = 8;

/** @throws ExecutorError if the prefix of the shown plan's hash does not match the plan's hash. */
export function checkShown(id: string, hash: string, shown: string): void {
  if (shown.length >= shortestHash && hash.startsWith(shown)) return;
  throw planChanged(id);
}
