import type { RestateHost } from "@uncaged/workflow-restate";

/**
 * Connects to a cluster and checks that the cluster answers and has our workers. `ownFolder` is the folder of the
 * storage root's own cluster.
 * @throws WorkflowError the errors of `reachCluster` and `clusterState`, and `NO_WORKERS`.
 */
export async function openedCluster(
  url: string,
  env: Record<string, string>,
  ownFolder: string | null,
): Promise<RestateHost> {
  const { checkWorkers, reachCluster } = await import("@uncaged/workflow-restate/cluster");
  const { address } = reachCluster(url, env, ownFolder);
  await checkWorkers(address);
  const { openRestateHost } = await import("@uncaged/workflow-restate");
  return openRestateHost(address);
}
