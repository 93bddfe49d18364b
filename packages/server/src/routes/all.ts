import { stopAll } from "@uncaged/workflow/host";
import * as request from "../schema/request.ts";
import * as schema from "../schema/thread.ts";
import { type Context, Routes } from "./route.ts";

/** Returns the routes that act on all threads of the storage root. */
export function allRoutes({ host, env }: Context) {
  const routes = new Routes("Control");
  routes.add("GET /interrupted", {
    summary: "List the interrupted threads: resumable threads, and other threads with the reason",
    answer: ["The threads.", schema.recoveredSchema],
    run: () => host.recover({ env, dryRun: true }),
  });
  routes.add("POST /interrupted/resume", {
    summary: "Resume all resumable interrupted threads",
    answer: [
      "The resumed threads, and other interrupted threads with the reason.",
      schema.recoveredSchema,
    ],
    run: () => host.recover({ env }),
  });
  routes.add("POST /pause", {
    summary: "Pause all threads that run or sleep",
    answer: ["The threads that will pause.", schema.stoppedAllSchema],
    run: () => stopAll(host, { kind: "pause" }),
  });
  routes.add("POST /kill", {
    summary: "End all threads that have not ended",
    optionalBody: request.killBody,
    answer: ["The ended threads. Their end records are durable.", schema.stoppedAllSchema],
    run: ({ body: { force } }) => stopAll(host, { kind: "kill", force, env }),
  });
  return routes.app;
}
