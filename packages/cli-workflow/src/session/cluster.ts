import type { Host } from "@uncaged/workflow/host";
import type { MovingHost } from "@uncaged/workflow/internal";

/** A host on which workers of several machines drive threads: a Restate cluster or a PostgreSQL database. */
export type SharedHost = Host & { moving: MovingHost };

/** Tells whether a host's URL names a PostgreSQL database. */
export const isDatabaseUrl = (url: string): boolean => /^postgres(ql)?:\/\//i.test(url);

/**
 * Connects to a cluster and checks that the cluster responds and has workers, or connects to a database and
 * creates its tables. `ownFolder` is the folder of the storage root's own cluster.
 * @throws WorkflowError the errors of `reachCluster` and `clusterState`, and `NO_WORKERS`; the errors of
 * `openPostgresHost`.
 */
export async function openedCluster(
  url: string,
  env: Record<string, string>,
  ownFolder: string | null,
): Promise<SharedHost> {
  if (isDatabaseUrl(url)) {
    const { openPostgresHost } = await import("@uncaged/workflow-postgres");
    return await openPostgresHost({ url });
  }
  const { checkWorkers, reachCluster } = await import("@uncaged/workflow-restate/cluster");
  const { address } = reachCluster(url, env, ownFolder);
  await checkWorkers(address);
  const { openRestateHost } = await import("@uncaged/workflow-restate");
  return openRestateHost(address);
}
