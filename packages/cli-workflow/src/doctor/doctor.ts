import { isWorkflowError, type Root } from "@uncaged/workflow/host";
import { checkBun, checkDisk, checkSocketPath } from "./machine.ts";
import { checkRegistry, checkThreads, checkWorkers } from "./store.ts";

/** Something that stands in the way, and what to do about it. */
export type Problem = { code: string; message: string; hint: string };

const checks = [checkDisk, checkSocketPath, checkRegistry, checkWorkers, checkThreads];

/** What stands in the way of running threads; nothing when all is well. It changes nothing. */
export async function examine(root: () => Root): Promise<Problem[]> {
  const problems = checkBun(Bun.version);
  let opened: Root;
  try {
    opened = root();
  } catch (error) {
    return [...problems, problemOf(error)];
  }
  for (const check of checks) {
    try {
      problems.push(...(await check(opened)));
    } catch (error) {
      problems.push(problemOf(error));
    }
  }
  return problems;
}

function problemOf(error: unknown): Problem {
  if (!isWorkflowError(error)) throw error;
  const { code, message, hint } = error;
  return { code, message, hint: hint ?? "" };
}
