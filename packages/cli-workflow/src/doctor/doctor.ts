import { isWorkflowError, type Host } from "@uncaged/workflow/host";
import {
  checkBun,
  checkDisk,
  checkRegistry,
  checkSocketPath,
  checkThreads,
  checkWorkers,
  type Problem,
} from "./checks.ts";

const checks = [checkDisk, checkSocketPath, checkRegistry, checkWorkers, checkThreads];

/** What prevents threads from running; nothing when all is well. It changes nothing. */
export async function examine(host: () => Host): Promise<Problem[]> {
  const problems = checkBun(Bun.version);
  let opened: Host;
  try {
    opened = host();
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

/** How many problems of one kind are listed one by one. */
const shown = 5;

/** What to do about all problems of a kind at once, where there is one command. */
const hintForAll: Record<string, (number: number) => string> = {
  THREAD_INTERRUPTED: (number) =>
    `continue all: uncaged-workflow resume $(uncaged-workflow threads -q --status interrupted --limit ${number})`,
  LOG_CORRUPT: () => "see where: uncaged-workflow verify",
};

/** The problems as a person reads them: of many that are alike the first few, and how many more. */
export function foldProblems(problems: readonly Problem[]): Problem[] {
  const kinds = Map.groupBy(problems, ({ code }) => code);
  return [...kinds].flatMap(([code, alike]) => {
    const hint = hintForAll[code]?.(alike.length);
    if (alike.length <= shown || hint === undefined) return alike;
    const message = `and ${alike.length - shown} more, ${alike.length} in all`;
    return [...alike.slice(0, shown), { code, message, hint }];
  });
}
