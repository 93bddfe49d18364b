// The exports for a cluster's worker that runs steps of plans.
export { planHome } from "../store/home.ts";
export { workerEnv } from "../step/worker-site.ts";
