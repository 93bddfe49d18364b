import { join } from "node:path";
import { namesIn, type Root, runDir } from "../../disk/paths.ts";
import { system } from "../../system/system.ts";
import { markVariable } from "../../system/worker-env.ts";
import { isAlive, readWorkerInfo } from "../../worker/worker-info.ts";
import { answerFromStep } from "../errors.ts";

/**
 * Whether a worker started this process: the process or an ancestor has the worker's mark in its environment, or an
 * ancestor is a worker of the storage root `root`. An agent must not approve itself.
 */
export function isFromStep(root?: string): boolean {
  const workers = root === undefined ? [] : workersOf(root as Root);
  return system.processes.comesFrom(markVariable, new Set(workers));
}

/** Refuses an answer from a step. @throws WorkflowError `ANSWER_FROM_STEP` */
export function checkAnswerer(root?: string): void {
  if (isFromStep(root)) throw answerFromStep();
}

function workersOf(root: Root): number[] {
  const folder = runDir(root);
  return namesIn(folder)
    .filter((name) => name.endsWith(".holder"))
    .flatMap((name) => {
      const worker = readWorkerInfo(join(folder, name));
      return worker && isAlive(worker.identity) ? [worker.identity.pid] : [];
    });
}
