import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Root, runDir, socketName } from "../storage/paths.ts";
import { openRoot, type RootOptions } from "../storage/root.ts";
import { resolveWorkflow } from "./resolve.ts";
import { type Candidate, spawnWorker } from "./spawn.ts";

/** A worker that was started before its first thread was. */
export type Prewarmed = { root: Root; hash: string; candidate: Candidate };

/**
 * Starts the worker of a workflow, or gives null when one listens: it boots while the caller is still at
 * work on the rest, and is then given to `openLocalHost`. It exits should no thread come.
 *
 * @throws WorkflowError those of `openRoot` and of `resolveWorkflow`; nothing is then written.
 */
export async function prewarmWorker(
  where: RootOptions,
  workflow: string,
): Promise<Prewarmed | null> {
  const root = openRoot(where);
  const { hash } = await resolveWorkflow(root, workflow);
  const candidate = newCandidate(root, hash);
  return candidate && { root, hash, candidate };
}

/** The prewarmed worker when it is of this hash, else a new one where none listens. */
export function candidateOf(
  root: Root,
  hash: string,
  prewarmed?: Prewarmed | null,
): Candidate | null {
  if (prewarmed?.root === root && prewarmed.hash === hash) return prewarmed.candidate;
  return newCandidate(root, hash);
}

function newCandidate(root: Root, hash: string): Candidate | null {
  return existsSync(join(runDir(root), socketName(hash))) ? null : spawnWorker(root, hash);
}
