// Entry point `./worker`: the worker, which drives the threads of a cluster.

export { type ServedWorker, serveWorker, type WorkerOptions } from "../worker/serve.ts";
