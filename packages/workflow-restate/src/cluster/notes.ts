import { readlinkSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "@uncaged/workflow/host";
import { makeFolder } from "@uncaged/workflow/internal";
import type { ClusterAddress } from "./address.ts";

/*
 * Records the locations of this user's clusters on this machine. A link named after the port of an ingress points to
 * the folder of its cluster, so that commands on any storage root find the keys. A link is a hint: the folder must name
 * the same address.
 */

function noteOf({ ingress }: ClusterAddress, env: Environment): string {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  return join(state, "uncaged-workflow/clusters", new URL(ingress).port);
}

/** Records the folder of a cluster. Without this link, only commands on the cluster's storage root find its keys. */
export function noteCluster(folder: string, address: ClusterAddress, env: Environment): void {
  const note = noteOf(address, env);
  try {
    makeFolder(join(note, ".."));
    rmSync(note, { force: true });
    symlinkSync(folder, note);
  } catch {
    // The home folder may be read-only or missing.
  }
}

export function forgetCluster(folder: string, address: ClusterAddress, env: Environment): void {
  if (notedFolder(address, env) === folder) rmSync(noteOf(address, env), { force: true });
}

/** Returns the recorded folder of an address; null if it is missing. */
export function notedFolder(address: ClusterAddress, env: Environment): string | null {
  try {
    return readlinkSync(noteOf(address, env));
  } catch {
    return null;
  }
}
