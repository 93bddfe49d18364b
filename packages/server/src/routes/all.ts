import { stopAll } from "@uncaged/workflow/host";
import * as request from "../schema/request.ts";
import * as schema from "../schema/thread.ts";
import { type Context, Routes } from "./route.ts";

/** What is done to all threads of the storage root. */
export function allRoutes({ host, env }: Context) {
  const routes = new Routes("Control");
  routes.add("GET /interrupted", {
    summary:
      "The interrupted threads: those that may be resumed at once, and the others with the reason",
    answer: ["The threads.", schema.recoveredSchema],
    run: () => host.recover({ env, dryRun: true }),
  });
  routes.add("POST /interrupted/resume", {
    summary: "Resume the interrupted threads that may be resumed at once",
    answer: ["The threads that go on, and the others with the reason.", schema.recoveredSchema],
    run: () => host.recover({ env }),
  });
  routes.add("POST /pause", {
    summary: "Pause all threads that run or sleep",
    answer: ["They will pause.", schema.stoppedAllSchema],
    run: () => stopAll(host, { kind: "pause" }),
  });
  routes.add("POST /kill", {
    summary: "End all threads that have not ended",
    optionalBody: request.killBody,
    answer: ["Their end records are on the disk.", schema.stoppedAllSchema],
    run: ({ body: { force } }) => stopAll(host, { kind: "kill", force, env }),
  });
  return routes.app;
}
