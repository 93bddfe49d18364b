import type { RestateHost } from "@uncaged/workflow-restate";

/**
 * The host that a cluster is, when it has answered that it is one and has our workers.
 *
 * @throws WorkflowError those of `readHostUrl` and `clusterState`, and `NO_WORKERS`.
 */
export async function openedCluster(
  url: string,
  env: Record<string, string>,
): Promise<RestateHost> {
  const { checkWorkers, readHostUrl } = await import("@uncaged/workflow-restate/cluster");
  const address = readHostUrl(url, env);
  await checkWorkers(address);
  const { openRestateHost } = await import("@uncaged/workflow-restate");
  return openRestateHost(address);
}
