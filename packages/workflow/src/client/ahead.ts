import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Root, runDir, socketName } from "../storage/paths.ts";
import { resolveWorkflow } from "./resolve.ts";
import { type Candidate, spawnWorker } from "./spawn.ts";

/** A worker that was started before its first thread was. */
export type Ahead = { root: Root; hash: string; candidate: Candidate };

/**
 * Starts the worker of a workflow, or gives null when one listens: it begins while the caller still
 * makes up its mind on the rest, and is then given to `startThread`. It exits by itself should no
 * thread come.
 *
 * @throws WorkflowError those of `resolveWorkflow`; nothing is then written.
 */
export async function startWorkerAhead(root: Root, workflow: string): Promise<Ahead | null> {
  const { hash } = await resolveWorkflow(root, workflow);
  const candidate = newCandidate(root, hash);
  return candidate && { root, hash, candidate };
}

/** The worker that was started ahead when it is of this hash, else a new one where none listens. */
export function candidateOf(root: Root, hash: string, ahead?: Ahead | null): Candidate | null {
  if (ahead?.root === root && ahead.hash === hash) return ahead.candidate;
  return newCandidate(root, hash);
}

function newCandidate(root: Root, hash: string): Candidate | null {
  return existsSync(join(runDir(root), socketName(hash))) ? null : spawnWorker(root, hash);
}
