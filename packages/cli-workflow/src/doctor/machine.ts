import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Root } from "@uncaged/workflow/host";
import manifest from "../../package.json" with { type: "json" };
import type { Problem } from "./doctor.ts";

const leastFree = 100 * 1024 * 1024;
// sockaddr_un: 104 bytes on macOS, 108 on Linux, with the final zero.
const longestSocketPath = 103;
const socketNameLength = "/r/0000000000000.sock".length + "/uw-XXXXXX".length;

/** Whether this Bun is at least the one that the package was made with. */
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

/** Whether the storage root, or the folder that it would be made in, can be written and has room. */
export function checkDisk(root: Root): Problem[] {
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

/** Whether a control socket can be reached: past a length its path is led through the temporary folder. */
export function checkSocketPath(root: Root): Problem[] {
  const direct = Buffer.byteLength(join(root, "run", "0000000000000.sock"));
  const led = Buffer.byteLength(tmpdir()) + socketNameLength;
  if (direct <= longestSocketPath || led <= longestSocketPath) return [];
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
