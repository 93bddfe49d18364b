import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { sampleOf } from "./measure.ts";

/** The measured machine, without its name or any of its paths. */
export type Machine = {
  cpu: string;
  cores: number;
  memoryGb: number;
  kernel: string;
  fileSystem: string;
  /** Median of a 100-byte write with fdatasync, in microseconds. */
  syncedWriteUs: number;
  bun: string;
};

/** Describes this machine, with the disk of a folder. */
export function machineOf(folder: string): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release().split("-")[0]}`,
    fileSystem: fileSystems[statfsSync(folder).type] ?? "unknown",
    syncedWriteUs: syncedWrite(folder),
    bun: Bun.version,
  };
}

// Magic numbers of statfs(2) on Linux.
const fileSystems: Record<number, string> = {
  0xef53: "ext4",
  0x58465342: "XFS",
  0x9123683e: "Btrfs",
  0x01021994: "tmpfs",
  0x794c7630: "overlayfs",
  0x2fc12fc1: "ZFS",
};

function syncedWrite(folder: string): number {
  const path = join(folder, "synced");
  const fd = openSync(path, "wx", 0o600);
  const figures = Array.from({ length: 500 }, () => {
    const began = performance.now();
    writeSync(fd, `${"x".repeat(99)}\n`);
    fdatasyncSync(fd);
    return (performance.now() - began) * 1000;
  });
  closeSync(fd);
  rmSync(path);
  return Math.round(sampleOf(figures).median);
}
