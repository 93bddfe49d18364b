import { type OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context as Call } from "hono";
import type { GraphDocument } from "@uncaged/workflow-graph";
import { type AnsweredBy, settled } from "@uncaged/workflow/host";
import { allRead, type Context, refusals, Routes } from "../routes/route.ts";
import * as schema from "../schema/graph.ts";
import { readConfig, readDefaultWorkflow } from "./config.ts";
import { GraphControl, invalidGraph } from "./control.ts";
import { type GraphRun, GraphRuns, isRunId } from "./graph-run.ts";
import { cursorAt, followRun, resumedRun, runMessages } from "./graph-stream.ts";
import { answererOf } from "../guard/role.ts";
import { Records } from "./records.ts";
import { badRunId, staleAnswer } from "./errors.ts";

const noRunId = "runId is required";
const unknownId = "Run ID not found";

const refused = refusals(schema.graphFailureSchema, {
  400: "The graph is invalid, or runId is missing.",
  401: "The token is missing or wrong.",
  403: "The Host or the Origin is not this server's.",
  404: "The run was not found.",
  408: "The body is sent too slowly.",
  409: "The run's status does not allow this.",
  413: "The body is too large.",
});

const notBegun = refusals(schema.graphFailureSchema, {
  500: "The run could not be started.",
  503: "A provider of the graph's agents has no key, or too many streams are open.",
});

const unreadable = refusals(schema.graphFailureSchema, { 500: "The file can't be read." });

const stream = z.string().describe("`data: {json}` lines: see docs/reference/server.md.");

type Resume = z.infer<typeof schema.resumeGraphBody>;

/** Tells whether the response to a request waits for the agents of a graph. */
export const takesLong = ({ url }: Request): boolean =>
  /^\/api\/(run|resume)$/.test(URL.parse(url)?.pathname ?? "");

/** Returns the documented routes of agent graphs. */
export function graphRoutes(context: Context): { app: OpenAPIHono; close: () => void } {
  const { host } = context;
  const runs = new GraphRuns(host);
  const control = new GraphControl(context);
  const records = new Records(context, runs, control);
  runs.imported = records.restore();
  const views = { host, runs, resultOf: (run: GraphRun) => records.result(run) };
  const routes = new Routes("Runs of agent graphs", refused);

  const start = async ({ graph, name }: z.infer<typeof schema.runGraphBody>, { req }: Call) => {
    const traceparent = req.header("traceparent");
    const run = await control.start(graph as Partial<GraphDocument>, { name, traceparent });
    await records.keep(run);
    return run;
  };
  /** Waits for the result of a run, unless its client disconnects. */
  const outcome = async (run: GraphRun, { raw }: { raw: Request }) => {
    await settled(host, run.ref, { signal: raw.signal });
    return await records.result(run);
  };
  /** Answers the question of a run. `cursor` is the position at which the run waited. */
  const resume = async (
    { input, question, runId }: Resume,
    by: AnsweredBy,
  ): Promise<{ run: GraphRun; cursor: string }> => {
    const run = await runs.get(runId, unknownId);
    // Reads the number first, so that a late answer does not answer the next question.
    const open = await control.question(run);
    if (question !== undefined && question !== open) throw staleAnswer(question, open);
    const cursor = await cursorAt(host, run.ref);
    await control.answer(run, { by, question: open, value: input });
    await records.keep(run);
    return { run, cursor };
  };

  routes.add("POST /run", {
    summary: "Run an agent graph to its end or to an approval",
    body: schema.runGraphBody,
    invalid: invalidGraph,
    answer: ["The result of the run.", schema.runResultSchema],
    others: notBegun,
    run: async ({ body }, call) => outcome(await start(body, call), call.req),
  });
  routes.add("POST /run-stream", {
    summary: "Run an agent graph and stream its log",
    body: schema.runGraphBody,
    invalid: invalidGraph,
    answer: ["start, log, done, error.", stream, "text/event-stream"],
    others: notBegun,
    run: ({ body }, call) =>
      context.streams.send(
        call,
        async (signal) => runMessages(views, await start(body, call), {}, signal),
        { greets: false },
      ),
  });
  routes.add("POST /resume", {
    summary: "Answer the approval that a run waits for",
    role: "answer",
    body: schema.resumeGraphBody,
    invalid: noRunId,
    answer: ["The result of the run.", schema.runResultSchema],
    run: async ({ body }, call) => outcome((await resume(body, answererOf(call))).run, call.req),
  });
  routes.add("POST /resume-stream", {
    summary: "Answer the approval that a run waits for, and stream the run's log",
    role: "answer",
    body: schema.resumeGraphBody,
    invalid: noRunId,
    answer: ["start, log, done, error.", stream, "text/event-stream"],
    run: ({ body }, call) =>
      context.streams.send(
        call,
        async (signal) => {
          const { cursor, run } = await resume(body, answererOf(call));
          return resumedRun(views, run, cursor, signal);
        },
        { greets: false },
      ),
  });
  routes.add("POST /cancel", {
    summary: "End a run",
    body: schema.cancelGraphBody,
    invalid: noRunId,
    answer: ["The run has ended.", schema.runResultSchema],
    async run({ body }) {
      const run = await runs.get(body.runId, unknownId);
      await control.cancel(run);
      return records.result(run);
    },
  });
  routes.add("POST /retry", {
    summary: "Continue a failed or interrupted run, or start a new run at a node",
    body: schema.retryGraphBody,
    invalid: noRunId,
    answer: ["The continued run or the new run.", schema.startedGraphSchema],
    async run({ body }, call) {
      const run = await runs.get(body.runId, unknownId);
      const { nodeId } = body;
      const traceparent = call.req.header("traceparent");
      const ref = await control.retry(run, { nodeId, traceparent });
      await records.keep({ ...run, ref });
      return { runId: ref.threadId };
    },
  });
  routes.add("GET /run/{runId}", {
    summary: "Show a run",
    params: schema.graphRunPath,
    answer: ["The run.", schema.runResultSchema],
    run: async ({ params }) => runs.result(await named(runs, params.runId)),
  });
  routes.add("GET /run/{runId}/events", {
    summary: "Stream a run's log, past and future",
    params: schema.graphRunPath,
    headers: z.object({ "last-event-id": z.string().optional() }),
    answer: ["Events start, log, done and error, each with an id.", stream, "text/event-stream"],
    others: allRead,
    run: ({ params }, call) =>
      context.streams.send(call, async (signal) => {
        const run = await named(runs, params.runId);
        return followRun(views, run, call.req.header("last-event-id") || undefined, signal);
      }),
  });
  routes.add("GET /default-workflow", {
    summary: "The default graph of an editor",
    answer: ["The graph.", schema.workflowGraphSchema],
    others: unreadable,
    run: () => readDefaultWorkflow(context),
  });
  routes.add("GET /config", {
    summary: "The providers and models for agents",
    answer: ["The providers.", schema.configSchema],
    others: unreadable,
    run: () => readConfig(context),
  });
  return { app: routes.app, close: () => records.close() };
}

async function named(runs: GraphRuns, runId: string): Promise<GraphRun> {
  if (isRunId(runId)) return await runs.get(runId);
  throw badRunId();
}
