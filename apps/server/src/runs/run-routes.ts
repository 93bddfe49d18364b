import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { body, type Context, optionalBody, routes } from "../routes/route.ts";
import {
  artifactsSchema,
  checkpointQuery,
  checkpointSchema,
  rerunBody,
  resumeRunBody,
  runBody,
  runFailureSchema,
  runPath,
  runStateSchema,
  snapshotSchema,
  startedRunSchema,
  valuesQuery,
  valuesSchema,
  variablesSchema,
} from "../schema/run.ts";
import { abortRun, pauseRun, resumeRun, startRerun, startRun } from "./control.ts";
import { followRun, noStream, seqIn } from "./run-stream.ts";
import { type Run, Runs } from "./run.ts";

const tags = ["Runs of step workflows"];
const params = runPath;

const json = <Schema extends z.ZodType>(schema: Schema) => ({ "application/json": { schema } });
const refused = (description: string) => ({ description, content: json(runFailureSchema) });

/** The errors of a run's stream: that of an unknown run ends at once. */
const runStreamRefusals = {
  401: refused("The token is missing or wrong."),
  403: refused("The Host or the Origin is not this server's."),
  429: refused("Too many at once."),
};

/** The responses of a path of runs: on success, and its errors. */
const runAnswers = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  200: { description, content: json(schema) },
  400: refused("What was sent is malformed or invalid: see `messages`."),
  404: refused("There is no such run, no such workflow, or no checkpoint."),
  409: refused("It can't be done as things are."),
  413: refused("The body is too large."),
  ...runStreamRefusals,
});

const run = createRoute({
  method: "post",
  path: "/run",
  tags,
  summary: "Run a step workflow",
  request: body(runBody),
  responses: runAnswers("It has begun.", startedRunSchema),
});

const rerun = createRoute({
  method: "post",
  path: "/rerun",
  tags,
  summary: "Run again from a checkpoint, at a step, with other values",
  request: body(rerunBody),
  responses: runAnswers("A new run has begun.", runStateSchema),
});

const status = createRoute({
  method: "get",
  path: "/{runID}/status",
  tags,
  summary: "The status of a run",
  request: { params },
  responses: runAnswers("A snapshot.", snapshotSchema),
});

const variables = createRoute({
  method: "get",
  path: "/{runID}/variables",
  tags,
  summary: "The variables of a run",
  request: { params },
  responses: runAnswers("By name.", variablesSchema),
});

const artifacts = createRoute({
  method: "get",
  path: "/{runID}/artifacts",
  tags,
  summary: "The files that a run has written",
  request: { params },
  responses: runAnswers("Their paths.", artifactsSchema),
});

const checkpoint = createRoute({
  method: "get",
  path: "/{runID}/checkpoint",
  tags,
  summary: "The state of a run, from which it can be run again",
  request: { params, query: checkpointQuery },
  responses: runAnswers("The checkpoint.", checkpointSchema),
});

const values = createRoute({
  method: "get",
  path: "/{runID}/values",
  tags,
  summary: "What a step of a run began with",
  request: { params, query: valuesQuery },
  responses: runAnswers("Its path, and the values in force there.", valuesSchema),
});

const events = createRoute({
  method: "get",
  path: "/{runID}/events",
  tags,
  summary: "Follow a run: its events, those there are and those to come",
  request: { params, headers: z.object({ "last-event-id": z.string().optional() }) },
  responses: {
    200: {
      description: "Server-sent events: see docs/server.md.",
      content: { "text/event-stream": { schema: z.string() } },
    },
    204: { description: "All up to the end was read: there is nothing to reconnect for." },
    ...runStreamRefusals,
  },
});

const act = (verb: "abort" | "pause", summary: string, done: string) =>
  createRoute({
    method: "post",
    path: `/{runID}/${verb}`,
    tags,
    summary,
    request: { params },
    responses: runAnswers(done, runStateSchema),
  });

const abort = act("abort", "End a run now", "It has ended, by this or before.");
const pause = act("pause", "Hold a run before its next step", "It will, unless it has ended.");
const resume = createRoute({
  method: "post",
  path: "/{runID}/resume",
  tags,
  summary: "Answer the Pause that a run waits at",
  request: { params, ...optionalBody(resumeRunBody) },
  responses: runAnswers("It goes on.", runStateSchema),
});

/** The routes of runs, as section 8 of the documented API has them. */
export function runRoutes(context: Context): OpenAPIHono {
  const runs = new Runs(context.host);
  const app = routes();
  app.use(asJson);
  const statusOf = async (found: Run) => {
    const { runID, status: current } = await runs.snapshot(found);
    return { runID, status: current };
  };
  return app
    .openapi(run, async (c) =>
      c.json({ runID: await startRun(context, runs, c.req.valid("json")) }, 200),
    )
    .openapi(rerun, async (c) => {
      const runID = await startRerun(context, runs, c.req.valid("json"));
      return c.json(await statusOf(await runs.get(runID)), 200);
    })
    .openapi(status, async (c) => {
      return c.json(await runs.snapshot(await runs.get(c.req.valid("param").runID)), 200);
    })
    .openapi(variables, async (c) => {
      const found = await runs.get(c.req.valid("param").runID);
      return c.json((await runs.snapshot(found)).variables, 200);
    })
    .openapi(artifacts, async (c) => {
      const found = await runs.get(c.req.valid("param").runID);
      return c.json((await runs.snapshot(found)).artifacts, 200);
    })
    .openapi(checkpoint, async (c) => {
      const { runID } = c.req.valid("param");
      return c.json(await runs.checkpoint(runID, c.req.valid("query")), 200);
    })
    .openapi(values, async (c) => {
      const { runID } = c.req.valid("param");
      return c.json(await runs.values(runID, c.req.valid("query").step), 200);
    })
    .openapi(events, async (c) => {
      const found = await runs.find(c.req.valid("param").runID);
      if (!found) return noStream();
      return await followRun(context, found.ref, seqIn(c.req.header("last-event-id")));
    })
    .openapi(abort, async (c) => {
      const found = await runs.get(c.req.valid("param").runID);
      await abortRun(context, found.ref);
      return c.json(await statusOf(found), 200);
    })
    .openapi(pause, async (c) => {
      const found = await runs.get(c.req.valid("param").runID);
      await pauseRun(context, found.ref);
      return c.json(await statusOf(found), 200);
    })
    .openapi(resume, async (c) => {
      const found = await runs.get(c.req.valid("param").runID);
      await resumeRun(context, found.ref, c.req.valid("json"));
      return c.json(await statusOf(found), 200);
    });
}

/** Takes a body without a content type as JSON: the documented clients send it so. */
const asJson: MiddlewareHandler = async (c, next) => {
  const type = c.req.header("content-type") ?? "";
  const isUntyped = type === "" || type.toLowerCase().startsWith("text/plain");
  if (isUntyped && c.req.raw.body !== null) {
    const headers = new Headers(c.req.raw.headers);
    headers.set("Content-Type", "application/json");
    c.req.raw = new Request(c.req.raw, { headers });
  }
  await next();
};
