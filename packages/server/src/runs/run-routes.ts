import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { allRead, type Context, refusals, Routes } from "../routes/route.ts";
import * as schema from "../schema/run.ts";
import { abortRun, pauseRun, resumeRun, startRerun, startRun } from "./control.ts";
import { followRun, seqIn } from "./run-stream.ts";
import { answererOf, requireRole } from "../guard/role.ts";
import type { Messages } from "../stream/streams.ts";
import { type Run, Runs } from "./run.ts";

/** The errors of a run's stream. The stream of an unknown run ends at once. */
const streamRefusals = refusals(schema.runFailureSchema, {
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's.",
});

const usualRefusals = refusals(schema.runFailureSchema, {
  400: "The request is malformed or invalid: see `messages`.",
  404: "The run, workflow or checkpoint was not found.",
  408: "The body is sent too slowly.",
  409: "The current state does not allow this.",
  413: "The body is too large.",
});

/** Returns the routes of runs, as specified in section 8 of the documented API. */
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
    answer: ["The run has started.", schema.startedRunSchema],
    run: async ({ body }, call) => ({
      runID: await startRun(context, runs, body, call.req.header("traceparent")),
    }),
  });
  routes.add("POST /rerun", {
    summary: "Run again from a checkpoint, optionally at a step and with other values",
    body: schema.rerunBody,
    answer: ["A new run has started.", schema.runStateSchema],
    async run({ body }, call) {
      const caller = { by: answererOf(call), traceparent: call.req.header("traceparent") };
      return statusOf(await runs.get(await startRerun(context, runs, body, caller)));
    },
  });
  routes.add("GET /{runID}/status", {
    summary: "Show the status of a run",
    params: schema.runPath,
    answer: ["The snapshot.", schema.snapshotSchema],
    run: async ({ params }) => runs.snapshot(await runs.get(params.runID)),
  });
  routes.add("GET /{runID}/variables", {
    summary: "List the variables of a run",
    params: schema.runPath,
    answer: ["The variables by name.", schema.variablesSchema],
    run: async ({ params }) => (await runs.snapshot(await runs.get(params.runID))).variables,
  });
  routes.add("GET /{runID}/artifacts", {
    summary: "List the files that a run has written",
    params: schema.runPath,
    answer: ["The paths of the files.", schema.artifactsSchema],
    run: async ({ params }) => (await runs.snapshot(await runs.get(params.runID))).artifacts,
  });
  routes.add("GET /{runID}/checkpoint", {
    summary: "Show the checkpoint of a run, for a rerun",
    params: schema.runPath,
    query: schema.checkpointQuery,
    answer: ["The checkpoint.", schema.checkpointSchema],
    run: ({ params, query }) => runs.checkpoint(params.runID, query),
  });
  routes.add("GET /{runID}/values", {
    summary: "Show the values at the start of a step",
    params: schema.runPath,
    query: schema.valuesQuery,
    answer: ["The step's path, and the values there.", schema.valuesSchema],
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
  act("abort", "End a run now", "The run has ended.", abortRun);
  act(
    "pause",
    "Pause a run before its next step",
    "The run will pause, unless it has ended.",
    pauseRun,
  );
  routes.add("POST /{runID}/resume", {
    summary: "Answer the Pause of a run, or resume a paused run",
    role: "answer",
    params: schema.runPath,
    optionalBody: schema.resumeRunBody,
    answer: ["The run continues.", schema.runStateSchema],
    async run({ params, body }, call) {
      if (body.token === undefined) requireRole(call, "operate");
      const run = await runs.get(params.runID);
      await resumeRun(context, run.ref, body, answererOf(call));
      return statusOf(run);
    },
  });
  const streams = new Routes("Runs of step workflows", streamRefusals);
  streams.add("GET /{runID}/events", {
    summary: "Stream a run's events, past and future",
    params: schema.runPath,
    headers: z.object({ "last-event-id": z.string().optional() }),
    answer: ["Server-sent events: see docs/reference/server.md.", z.string(), "text/event-stream"],
    others: allRead,
    async run({ params }, call) {
      const run = await runs.find(params.runID);
      if (!run) return context.streams.send(call, nothing, { greets: false });
      const last = seqIn(call.req.header("last-event-id"));
      return context.streams.send(call, (signal) => followRun(context, run.ref, last, signal));
    },
  });
  routes.app.route("/", streams.app);
  return routes.app;
}

async function* nothing(): Messages {}
