import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Environment, type Host, toErrorRecord } from "@uncaged/workflow/host";
import { temporaryProblem } from "@uncaged/workflow/internal";
import manifest from "../../package.json" with { type: "json" };
import { count } from "../output/text.ts";

export type Problem = { code: string; message: string; hint: string };

type Check<About> = (about: About) => Iterable<Problem> | AsyncIterable<Problem>;

const ofMachine: Check<Environment>[] = [
  () => checkBun(Bun.version),
  checkVariables,
  checkTemporary,
  checkShell,
];
const ofRoot: Check<Host>[] = [
  ...[checkDisk, checkSocketPath, checkRegistry],
  ...[checkIndex, checkWorkers, checkThreads],
];

/**
 * Finds problems that prevent threads from running, or soon may. Checks are independent of each other. A check that
 * fails to run is reported as a problem. Changes nothing.
 */
export async function examine(open: () => Host, env: Environment): Promise<Problem[]> {
  const problems = await made(ofMachine, env);
  try {
    return [...problems, ...(await made(ofRoot, open()))];
  } catch (error) {
    return [...problems, problemOf(error)];
  }
}

async function made<About>(checks: Check<About>[], about: About): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const check of checks) {
    try {
      for await (const problem of check(about)) problems.push(problem);
    } catch (error) {
      problems.push(problemOf(error));
    }
  }
  return problems;
}

function problemOf(error: unknown): Problem {
  const {
    code,
    message,
    hint = "check that this folder and its files can be read",
  } = toErrorRecord(error);
  return { code, message, hint };
}

function* checkBun(version: string): Generator<Problem> {
  const needed = manifest.dependencies.bun;
  if (Bun.semver.order(version, needed) >= 0) return;
  yield {
    code: "BUN_OLD",
    message: `this is Bun ${version}, and ${needed} is needed`,
    hint: "install uncaged-workflow again with npm: the package includes its own Bun",
  };
}

function* checkVariables(env: Environment): Generator<Problem> {
  const idle = env.UNCAGED_WORKFLOW_IDLE_MS;
  if (idle === undefined || (Number.isFinite(Number(idle)) && Number(idle) >= 0)) return;
  yield {
    code: "BAD_VARIABLE",
    message: `UNCAGED_WORKFLOW_IDLE_MS is ${JSON.stringify(idle)}, not a number of milliseconds`,
    hint: "set it to a number, or unset it: workers use 3000 now",
  };
}

function* checkTemporary(): Generator<Problem> {
  if (!isUsable(tmpdir())) yield temporaryProblem(tmpdir());
}

function* checkShell(): Generator<Problem> {
  if (existsSync("/bin/sh")) return;
  yield {
    code: "NO_SHELL",
    message:
      "no /bin/sh found: commands of tools and agents keep running when their worker is killed",
    hint: "install a shell, such as busybox",
  };
}

function isUsable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

const leastFree = 100 * 1024 * 1024;

function* checkDisk({ root }: Host): Generator<Problem> {
  let folder = root;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  if (!isUsable(folder)) {
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

/** Checks that a storage root has enough free bytes. `gc` frees the space of a removed item only after a day. */
export function* checkFree(root: string, free: number): Generator<Problem> {
  if (free >= leastFree) return;
  yield {
    code: "DISK_NEARLY_FULL",
    message: `the disk of ${root} has ${Math.floor(free / 1024 / 1024)} MiB left`,
    hint: `free some space elsewhere, or delete ${join(root, "trash")}, where gc keeps bundles for a day`,
  };
}

// sockaddr_un: 104 bytes on macOS, 108 on Linux, including the final zero.
const longestSocketPath = 103;
const socketNameLength = "/r/0000000000000.sock".length + "/uw-XXXXXX".length;

/** Checks that the path of a control socket is short enough, directly or through the temporary folder. */
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
    if (await isStored(host, name)) continue;
    const other = await otherVersion(host, name);
    yield {
      code: "BUNDLE_MISSING",
      message: `the bundle ${hash} of ${name} is missing`,
      hint: `add the same file again: uncaged-workflow add ${name} <file>${other === null ? "" : `; or go back: uncaged-workflow rollback ${name} ${other}`}`,
    };
  }
}

const isStored = (host: Host, version: string): Promise<boolean> =>
  host.resolve(version).then(
    () => true,
    () => false,
  );

/** Returns the newest version of a workflow whose bundle exists; null if there is none. */
async function otherVersion(host: Host, name: string): Promise<string | null> {
  for (const { hash } of await host.history(name)) if (await isStored(host, hash)) return hash;
  return null;
}

function* checkIndex({ root }: Host): Generator<Problem> {
  const folder = join(root, "index");
  if (!existsSync(folder)) return;
  const unusable = [folder, ...namesIn(folder)].find((path) => !isWritable(path));
  if (unusable === undefined) return;
  yield {
    code: "INDEX_UNUSABLE",
    message: `${unusable} can't be written: lists and searches read every log`,
    hint: `delete the folder; it is created again: rm -r ${folder}`,
  };
}

const namesIn = (folder: string): string[] => readdirSync(folder).map((name) => join(folder, name));

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    const { mode } = statSync(path);
    // The superuser may write to files without write permission.
    return (mode & 0o200) !== 0;
  } catch {
    return false;
  }
}

async function* checkWorkers(host: Host): AsyncGenerator<Problem> {
  for (const { hash, state, pid, orphans } of await host.workers()) {
    if (orphans.length > 0) {
      const list = orphans.map((orphan) => `${orphan.pid} ${orphan.command}`).join(", ");
      yield {
        code: "PROCESSES_LEFT",
        message: `the worker of ${hash} was killed and left processes running: ${list}`,
        hint: `a resume of its threads ends them, or: kill ${orphans.map((orphan) => orphan.pid).join(" ")}`,
      };
    }
    if (state === "silent") {
      yield {
        code: "WORKER_SILENT",
        message: `the worker of ${hash} does not answer: a role may block it`,
        hint: "end the worker and resume its other threads: uncaged-workflow kill --force <id>",
      };
    }
    if (state === "stuck") {
      yield {
        code: "WORKER_STUCK",
        message: `the worker of ${hash}, process ${pid}, runs but accepts no requests: it could not end`,
        hint: `end the process, which blocks this version: kill -9 ${pid}`,
      };
    }
    if (state === "gone") {
      yield {
        code: "SOCKET_STALE",
        message: `the worker of ${hash} has ended and left its socket in ${join(host.root, "run")}`,
        hint: "delete the socket, or let the next worker replace it",
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

/** Hints, by kind of problem, with a single command that fixes several problems. */
const hintForAll: Record<string, (number: number) => string> = {
  THREAD_INTERRUPTED: (number) =>
    `continue all: uncaged-workflow resume $(uncaged-workflow threads -q --status interrupted --limit ${number})`,
  LOG_CORRUPT: () => "see where: uncaged-workflow verify",
};

/** Returns the problems for people. Of many similar problems, keeps the first few and adds the number of the rest. */
export function foldProblems(problems: readonly Problem[]): Problem[] {
  const kinds = Map.groupBy(problems, ({ code }) => code);
  return [...kinds].flatMap(([code, alike]) => {
    const hint = hintForAll[code]?.(alike.length);
    if (alike.length <= shown || hint === undefined) return alike;
    const message = `and ${alike.length - shown} more, ${alike.length} in all`;
    return [...alike.slice(0, shown), { code, message, hint }];
  });
}
