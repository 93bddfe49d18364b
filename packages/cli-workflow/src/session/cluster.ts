import type { RestateHost } from "@uncaged/workflow-restate";

/**
 * The host that a cluster is, when it has answered that it is one and has our workers. `ownFolder`: that of the storage
 * root's own cluster.
 *
 * @throws WorkflowError those of `reachCluster` and `clusterState`, and `NO_WORKERS`.
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
