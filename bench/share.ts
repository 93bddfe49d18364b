import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * A share of a core for a process, by a control group of its own: so that what several processes do together shows on a
 * machine with fewer cores than they would use.
 */

const groups = "/sys/fs/cgroup";
const periodUs = 10_000;

/** The limits of a group as files, by which version of control groups there is; null where no group can be limited. */
function limitsOf(share: number): { parent: string; files: Record<string, string> } | null {
  const quota = `${Math.round(share * periodUs)}`;
  const older = join(groups, "cpu");
  if (existsSync(join(older, "cpu.cfs_quota_us"))) {
    const files = { "cpu.cfs_period_us": `${periodUs}`, "cpu.cfs_quota_us": quota };
    return { parent: older, files };
  }
  const controllers = join(groups, "cgroup.subtree_control");
  if (!existsSync(controllers) || !/\bcpu\b/.test(readFileSync(controllers, "utf8"))) return null;
  return { parent: groups, files: { "cpu.max": `${quota} ${periodUs}` } };
}

/**
 * Limits a process to a share of a core, and gives what removes the limit's group once the process has ended; null where
 * this can't be done: without root, in many containers, and elsewhere than on Linux.
 */
export function limitToShare(pid: number, share: number): (() => void) | null {
  const limits = limitsOf(share);
  if (!limits) return null;
  const group = join(limits.parent, `uncaged-bench-${pid}`);
  try {
    mkdirSync(group);
    for (const [name, value] of Object.entries(limits.files)) {
      writeFileSync(join(group, name), value);
    }
    writeFileSync(join(group, "cgroup.procs"), `${pid}`);
  } catch {
    return null;
  }
  return () => rmdirSync(group);
}
