import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Host, isWorkflowError } from "@uncaged/workflow/host";
import manifest from "../../package.json" with { type: "json" };
import { count } from "../output/text.ts";

export type Problem = { code: string; message: string; hint: string };

const checks = [checkDisk, checkSocketPath, checkRegistry, checkWorkers, checkThreads];

/** What prevents threads from running; nothing when all is well. It changes nothing. */
export async function examine(open: () => Host): Promise<Problem[]> {
  const problems = [...checkBun(Bun.version)];
  let host: Host;
  try {
    host = open();
  } catch (error) {
    return [...problems, problemOf(error)];
  }
  for (const check of checks) {
    try {
      for await (const problem of check(host)) problems.push(problem);
    } catch (error) {
      problems.push(problemOf(error));
    }
  }
  return problems;
}

function problemOf(error: unknown): Problem {
  if (!isWorkflowError(error)) throw error;
  const { code, message, hint = "" } = error;
  return { code, message, hint };
}

function* checkBun(version: string): Generator<Problem> {
  const needed = manifest.dependencies.bun;
  if (Bun.semver.order(version, needed) >= 0) return;
  yield {
    code: "BUN_OLD",
    message: `this is Bun ${version}, and ${needed} is needed`,
    hint: "install uncaged-workflow again with npm: its own Bun comes with it",
  };
}

const leastFree = 100 * 1024 * 1024;

function* checkDisk({ root }: Host): Generator<Problem> {
  let folder = root;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    yield {
      code: "NO_PERMISSION",
      message: `${folder} can't be read and written`,
      hint: "check its owner and mode, and whether the file system is read-only",
    };
    return;
  }
  const { bavail, bsize } = statfsSync(folder);
  yield* checkFree(root, bavail * bsize);
}

/** Whether a storage root has enough free bytes. What `gc` takes away is freed a day later. */
export function* checkFree(root: string, free: number): Generator<Problem> {
  if (free >= leastFree) return;
  yield {
    code: "DISK_NEARLY_FULL",
    message: `the disk of ${root} has ${Math.floor(free / 1024 / 1024)} MiB left`,
    hint: `free some space elsewhere, or delete ${join(root, "trash")}, where gc keeps bundles for a day`,
  };
}

// sockaddr_un: 104 bytes on macOS, 108 on Linux, with the final zero.
const longestSocketPath = 103;
const socketNameLength = "/r/0000000000000.sock".length + "/uw-XXXXXX".length;

/** Whether a control socket can be reached: a path that is too long goes through the temporary folder. */
function* checkSocketPath({ root }: Host): Generator<Problem> {
  const direct = Buffer.byteLength(join(root, "run", "0000000000000.sock"));
  const indirect = Buffer.byteLength(tmpdir()) + socketNameLength;
  if (direct <= longestSocketPath || indirect <= longestSocketPath) return;
  yield {
    code: "PATH_TOO_LONG",
    message: `the paths of the storage root and of ${tmpdir()} are too long for a Unix socket`,
    hint: "set TMPDIR or UNCAGED_WORKFLOW_STORAGE_ROOT to a shorter path",
  };
}

async function* checkRegistry(host: Host): AsyncGenerator<Problem> {
  for (const { name, hash } of await host.workflows()) {
    const found = await host.resolve(name).catch(() => null);
    if (found) continue;
    yield {
      code: "BUNDLE_MISSING",
      message: `the bundle ${hash} of ${name} is gone`,
      hint: `add the same file again, or: uncaged-workflow rollback ${name}`,
    };
  }
}

async function* checkWorkers(host: Host): AsyncGenerator<Problem> {
  for (const { hash, state } of await host.workers()) {
    if (state === "silent") {
      yield {
        code: "WORKER_SILENT",
        message: `the worker of ${hash} does not answer: a role may block it`,
        hint: "end it and resume its other threads: uncaged-workflow kill --force <id>",
      };
    }
    if (state === "gone") {
      yield {
        code: "SOCKET_STALE",
        message: `the worker of ${hash} is gone and has left its socket in ${join(host.root, "run")}`,
        hint: "it does no harm: the next worker replaces it, or delete it",
      };
    }
  }
}

async function* checkThreads(host: Host): AsyncGenerator<Problem> {
  const limit = Number.POSITIVE_INFINITY;
  const { rows } = await host.threads({ status: ["interrupted", "corrupt"], limit });
  for (const { threadId, workflow, status, steps } of rows) {
    if (status === "corrupt") {
      const message = `the log of the thread ${threadId} is broken`;
      yield { code: "LOG_CORRUPT", message, hint: "see where: uncaged-workflow verify" };
    } else {
      yield {
        code: "THREAD_INTERRUPTED",
        message: `the thread ${threadId} of ${workflow} was interrupted after ${count(steps, "step")}`,
        hint: `continue it: uncaged-workflow resume ${threadId}`,
      };
    }
  }
}

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
