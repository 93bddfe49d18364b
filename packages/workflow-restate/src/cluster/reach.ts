import type { Environment } from "@uncaged/workflow/host";
import { type ClusterAddress, hostUrl, readHostUrl } from "./address.ts";
import { type ClusterKeys, readKeys } from "./keys.ts";
import { readCluster } from "./local.ts";
import { notedFolder } from "./notes.ts";

/** A cluster of this user on this machine that runs: its folder, and the keys in it. */
export type OwnCluster = ClusterKeys & { folder: string };

/** The cluster of this user at an address; null when there is none. `folder`: that of the storage root's own. */
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

// A folder whose file can't be read is not known to be that of the address.
function hostOf(folder: string): string | null {
  try {
    return readCluster(folder)?.host ?? null;
  } catch {
    return null;
  }
}

/** An address with its token, and the cluster that it is of, if that is one of this user on this machine. */
export type Reached = { address: ClusterAddress; own: OwnCluster | null };

/**
 * Reads the URL of a cluster as {@link readHostUrl} does. Without the variable the token is that of this user's cluster at
 * the address, if there is one. `folder`: where the storage root's own cluster is.
 *
 * @throws WorkflowError `BAD_HOST_URL`.
 */
export function reachCluster(text: string, env: Environment, folder: string | null): Reached {
  const address = readHostUrl(text, env);
  const own = findOwn(address, env, folder);
  return { address: { ...address, token: address.token ?? own?.token ?? null }, own };
}
