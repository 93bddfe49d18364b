import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Host } from "@uncaged/workflow/host";
import manifest from "../../package.json" with { type: "json" };
import { count } from "../output/text.ts";

/** Something that prevents threads from running, and what to do about it. */
export type Problem = { code: string; message: string; hint: string };

const leastFree = 100 * 1024 * 1024;
// sockaddr_un: 104 bytes on macOS, 108 on Linux, with the final zero.
const longestSocketPath = 103;
const socketNameLength = "/r/0000000000000.sock".length + "/uw-XXXXXX".length;

/** Whether this Bun is at least the one that the package was built with. */
export function checkBun(version: string): Problem[] {
  const needed = manifest.dependencies.bun;
  if (Bun.semver.order(version, needed) >= 0) return [];
  return [
    {
      code: "BUN_OLD",
      message: `this is Bun ${version}, and ${needed} is needed`,
      hint: "install uncaged-workflow again with npm: its own Bun comes with it",
    },
  ];
}

/** Whether the storage root, or the folder that it would be created in, can be written and has room. */
export function checkDisk({ root }: Host): Problem[] {
  const folder = nearest(root);
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [
      {
        code: "NO_PERMISSION",
        message: `${folder} can't be read and written`,
        hint: "check its owner and mode, and whether the file system is read-only",
      },
    ];
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= leastFree) return [];
  return [
    {
      code: "DISK_NEARLY_FULL",
      message: `${folder} has ${Math.floor(free / 1024 / 1024)} MiB left`,
      hint: "free some space; uncaged-workflow gc deletes bundles that nothing needs",
    },
  ];
}

/** Whether a control socket can be reached: a path that is too long goes through the temporary folder. */
export function checkSocketPath({ root }: Host): Problem[] {
  const direct = Buffer.byteLength(join(root, "run", "0000000000000.sock"));
  const indirect = Buffer.byteLength(tmpdir()) + socketNameLength;
  if (direct <= longestSocketPath || indirect <= longestSocketPath) return [];
  return [
    {
      code: "PATH_TOO_LONG",
      message: `the paths of the storage root and of ${tmpdir()} are too long for a Unix socket`,
      hint: "set TMPDIR or UNCAGED_WORKFLOW_STORAGE_ROOT to a shorter path",
    },
  ];
}

function nearest(path: string): string {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** Whether the registry can be read, and each name's bundle is there. */
export async function checkRegistry(host: Host): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { name, hash } of await host.workflows()) {
    try {
      await host.resolve(name);
    } catch {
      problems.push({
        code: "BUNDLE_MISSING",
        message: `the bundle ${hash} of ${name} is gone`,
        hint: `add the same file again, or: uncaged-workflow rollback ${name}`,
      });
    }
  }
  return problems;
}

/** Threads that nobody drives: they were interrupted, or their log is broken. */
export async function checkThreads(host: Host): Promise<Problem[]> {
  const limit = Number.POSITIVE_INFINITY;
  const { rows } = await host.threads({ status: ["interrupted", "corrupt"], limit });
  return rows.map(({ threadId, workflow, status, steps }) =>
    status === "interrupted"
      ? {
          code: "THREAD_INTERRUPTED",
          message: `the thread ${threadId} of ${workflow} was interrupted after ${count(steps, "step")}`,
          hint: `continue it: uncaged-workflow resume ${threadId}`,
        }
      : {
          code: "LOG_CORRUPT",
          message: `the log of the thread ${threadId} is broken`,
          hint: "see where: uncaged-workflow verify",
        },
  );
}

/** Workers that do not answer, and sockets that dead workers have left. */
export async function checkWorkers(host: Host): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { hash, state } of await host.workers()) {
    if (state === "silent") {
      problems.push({
        code: "WORKER_SILENT",
        message: `the worker of ${hash} does not answer: a role may block it`,
        hint: "end it and resume its other threads: uncaged-workflow kill --force <id>",
      });
    }
    if (state === "gone") {
      problems.push({
        code: "SOCKET_STALE",
        message: `the worker of ${hash} is gone and has left its socket in ${join(host.root, "run")}`,
        hint: "it does no harm: the next worker replaces it, or delete it",
      });
    }
  }
  return problems;
}
