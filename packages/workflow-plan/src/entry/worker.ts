// The exports for a cluster worker that runs the steps of plans.
export { planHome } from "../store/home.ts";
export { workerEnv } from "../step/worker-site.ts";
