// Entry point 2: the worker, which drives a cluster's threads.

export { type ServedWorker, serveWorker, type WorkerOptions } from "../worker/serve.ts";
