// Entry point 6: what a worker of a cluster is given so that it carries out the steps of plans. It loads next to nothing.

export { planHome } from "../store/home.ts";
export { workerEnv } from "../step/worker-site.ts";
