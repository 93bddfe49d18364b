// Entry point `./cluster`: addresses of clusters, and clusters on this machine.

export {
  type ClusterAddress,
  hostUrl,
  isHostUrl,
  readHostUrl,
  tokenVariable,
} from "../cluster/address.ts";
export { serviceMetadata, serviceNames } from "../cluster/names.ts";
export {
  checkWorkers,
  type ClusterState,
  clusterState,
  type Deployment,
  hasWorkers,
  registerWorker,
} from "../cluster/admin.ts";

export { type Cluster, startCluster } from "../cluster/cluster.ts";
export { findServer, installServer, missingServer, serverVersion } from "../cluster/program.ts";
export {
  balance,
  clusterStatus,
  downCluster,
  joinCluster,
  type LocalCluster,
  readCluster,
  upCluster,
} from "../cluster/local.ts";
export { readIdentityKey } from "../cluster/identity.ts";
export { type Reached, reachCluster } from "../cluster/reach.ts";
export { type Backend, type Balancer, startBalancer } from "../cluster/balancer.ts";
