import type { Environment } from "@uncaged/workflow/host";
import { type ClusterAddress, hostUrl, readHostUrl } from "./address.ts";
import { type ClusterKeys, readKeys } from "./keys.ts";
import { readCluster } from "./local.ts";
import { notedFolder } from "./notes.ts";

/** A running cluster of this user on this machine: its folder and keys. */
export type OwnCluster = ClusterKeys & { folder: string };

/** Returns this user's cluster at an address; null when there is none. `folder`: cluster folder of the storage root. */
function findOwn(
  address: ClusterAddress,
  env: Environment,
  folder: string | null,
): OwnCluster | null {
  for (const each of [notedFolder(address, env), folder]) {
    if (each === null || hostOf(each) !== hostUrl(address)) continue;
    const keys = readKeys(each);
    if (keys) return { ...keys, folder: each };
  }
  return null;
}

// An unreadable file does not prove that the folder belongs to an address.
function hostOf(folder: string): string | null {
  try {
    return readCluster(folder)?.host ?? null;
  } catch {
    return null;
  }
}

/** An address with its token. `own`: the cluster at the address, if this user runs it on this machine. */
export type Reached = { address: ClusterAddress; own: OwnCluster | null };

/**
 * Reads the URL of a cluster as {@link readHostUrl} does. Without `UNCAGED_WORKFLOW_HOST_TOKEN`, uses the token of this
 * user's cluster at the address. `folder`: cluster folder of the storage root.
 *
 * @throws WorkflowError `BAD_HOST_URL`.
 */
export function reachCluster(text: string, env: Environment, folder: string | null): Reached {
  const address = readHostUrl(text, env);
  const own = findOwn(address, env, folder);
  return { address: { ...address, token: address.token ?? own?.token ?? null }, own };
}
