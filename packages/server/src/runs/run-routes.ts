import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { allRead, type Context, refusals, Routes } from "../routes/route.ts";
import * as schema from "../schema/run.ts";
import { abortRun, pauseRun, resumeRun, startRerun, startRun } from "./control.ts";
import { followRun, noStream, seqIn } from "./run-stream.ts";
import { answererOf } from "../guard/guard.ts";
import { type Run, Runs } from "./run.ts";

/** The errors of a run's stream: that of an unknown run ends at once. */
const streamRefusals = refusals(schema.runFailureSchema, {
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's.",
  429: "Too many at once.",
});

const usualRefusals = refusals(schema.runFailureSchema, {
  400: "What was sent is malformed or invalid: see `messages`.",
  404: "There is no such run, no such workflow, or no checkpoint.",
  408: "The body comes too slowly.",
  409: "It can't be done as things are.",
  413: "The body is too large.",
});

/** The routes of runs, as section 8 of the documented API has them. */
export function runRoutes(context: Context): OpenAPIHono {
  const runs = new Runs(context.host);
  const routes = new Routes("Runs of step workflows", { ...usualRefusals, ...streamRefusals });
  const statusOf = async (run: Run) => {
    const { runID, status } = await runs.snapshot(run);
    return { runID, status };
  };
  routes.add("POST /run", {
    summary: "Run a step workflow",
    body: schema.runBody,
    answer: ["It has begun.", schema.startedRunSchema],
    run: async ({ body }) => ({ runID: await startRun(context, runs, body) }),
  });
  routes.add("POST /rerun", {
    summary: "Run again from a checkpoint, at a step, with other values",
    body: schema.rerunBody,
    answer: ["A new run has begun.", schema.runStateSchema],
    run: async ({ body }, call) =>
      statusOf(await runs.get(await startRerun(context, runs, body, answererOf(call.req.raw)))),
  });
  routes.add("GET /{runID}/status", {
    summary: "The status of a run",
    params: schema.runPath,
    answer: ["A snapshot.", schema.snapshotSchema],
    run: async ({ params }) => runs.snapshot(await runs.get(params.runID)),
  });
  routes.add("GET /{runID}/variables", {
    summary: "The variables of a run",
    params: schema.runPath,
    answer: ["By name.", schema.variablesSchema],
    run: async ({ params }) => (await runs.snapshot(await runs.get(params.runID))).variables,
  });
  routes.add("GET /{runID}/artifacts", {
    summary: "The files that a run has written",
    params: schema.runPath,
    answer: ["Their paths.", schema.artifactsSchema],
    run: async ({ params }) => (await runs.snapshot(await runs.get(params.runID))).artifacts,
  });
  routes.add("GET /{runID}/checkpoint", {
    summary: "The state of a run, from which it can be run again",
    params: schema.runPath,
    query: schema.checkpointQuery,
    answer: ["The checkpoint.", schema.checkpointSchema],
    run: ({ params, query }) => runs.checkpoint(params.runID, query),
  });
  routes.add("GET /{runID}/values", {
    summary: "What a step of a run began with",
    params: schema.runPath,
    query: schema.valuesQuery,
    answer: ["Its path, and the values in force there.", schema.valuesSchema],
    run: ({ params, query }) => runs.values(params.runID, query.step),
  });
  const act = (verb: string, summary: string, done: string, run: typeof abortRun) =>
    routes.add(`POST /{runID}/${verb}`, {
      summary,
      params: schema.runPath,
      answer: [done, schema.runStateSchema],
      async run({ params }) {
        const found = await runs.get(params.runID);
        await run(context, found.ref);
        return statusOf(found);
      },
    });
  act("abort", "End a run now", "It has ended, by this or before.", abortRun);
  act("pause", "Hold a run before its next step", "It will, unless it has ended.", pauseRun);
  routes.add("POST /{runID}/resume", {
    summary: "Answer the Pause that a run waits at",
    params: schema.runPath,
    optionalBody: schema.resumeRunBody,
    answer: ["It goes on.", schema.runStateSchema],
    async run({ params, body }, call) {
      const run = await runs.get(params.runID);
      await resumeRun(context, run.ref, body, answererOf(call.req.raw));
      return statusOf(run);
    },
  });
  const streams = new Routes("Runs of step workflows", streamRefusals);
  streams.add("GET /{runID}/events", {
    summary: "Follow a run: its events, those there are and those to come",
    params: schema.runPath,
    headers: z.object({ "last-event-id": z.string().optional() }),
    answer: ["Server-sent events: see docs/server.md.", z.string(), "text/event-stream"],
    others: allRead,
    async run({ params }, { req }) {
      const run = await runs.find(params.runID);
      return run ? followRun(context, run.ref, seqIn(req.header("last-event-id"))) : noStream();
    },
  });
  routes.app.route("/", streams.app);
  return routes.app;
}
