// Entry point `.`: the host on a cluster.

export { openRestateHost, type RestateHost, type RestateHostOptions } from "../host/host.ts";
export { openPlanRows, type PlanRows } from "../host/plans.ts";
export { maxRecordBytes } from "../thread/thread.ts";
