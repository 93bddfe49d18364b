// What a worker of a cluster needs to carry out steps of plans.
export { planHome } from "../store/home.ts";
export { workerEnv } from "../step/worker-site.ts";
