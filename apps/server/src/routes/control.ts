import { createRoute } from "@hono/zod-openapi";
import { retryOptions } from "@uncaged/workflow/host";
import {
  forceQuery,
  forkBody,
  idPath,
  inputBody,
  killBody,
  resumeBody,
  retryBody,
  startBody,
} from "../schema/request.ts";
import { controlledSchema, forkedSchema, killedSchema, startedSchema } from "../schema/thread.ts";
import { answers, body, type Context, makes, optionalBody, routes } from "./route.ts";

const tags = ["Control"];

const start = createRoute({
  method: "post",
  path: "/threads",
  tags,
  summary: "Start a thread",
  request: body(startBody),
  responses: makes("Its start record is on the disk.", startedSchema),
});

const pause = createRoute({
  method: "post",
  path: "/threads/{id}/pause",
  tags,
  summary: "Pause a thread after the step that it is at",
  request: { params: idPath },
  responses: answers("It will pause.", controlledSchema),
});

const resume = createRoute({
  method: "post",
  path: "/threads/{id}/resume",
  tags,
  summary: "Go on with a paused or interrupted thread",
  request: { params: idPath, ...optionalBody(resumeBody) },
  responses: answers("It goes on.", controlledSchema),
});

const input = createRoute({
  method: "post",
  path: "/threads/{id}/input",
  tags,
  summary: "Answer a waiting thread",
  request: { params: idPath, ...body(inputBody) },
  responses: answers("The answer is committed.", controlledSchema),
});

const kill = createRoute({
  method: "post",
  path: "/threads/{id}/kill",
  tags,
  summary: "End a thread now",
  request: { params: idPath, ...optionalBody(killBody) },
  responses: answers("Its end record is on the disk.", killedSchema),
});

const fork = createRoute({
  method: "post",
  path: "/threads/{id}/fork",
  tags,
  summary: "Start a new thread from the steps of this one",
  request: { params: idPath, ...optionalBody(forkBody) },
  responses: makes("The new thread.", forkedSchema),
});

const retry = createRoute({
  method: "post",
  path: "/threads/{id}/retry",
  tags,
  summary: "Take up a failed or killed thread in a new one",
  request: { params: idPath, ...optionalBody(retryBody) },
  responses: makes("The new thread.", forkedSchema),
});

const remove = createRoute({
  method: "delete",
  path: "/threads/{id}",
  tags,
  summary: "Delete a thread's logs",
  request: { params: idPath, query: forceQuery },
  responses: answers("They are gone.", controlledSchema),
});

export function controlRoutes({ host, env, cwd }: Context) {
  return routes()
    .openapi(start, async (c) => {
      return c.json(await host.start({ ...c.req.valid("json"), env, cwd }), 201);
    })
    .openapi(pause, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      return c.json(await host.control(ref, { kind: "pause" }), 200);
    })
    .openapi(resume, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const command = { kind: "resume" as const, ...c.req.valid("json"), env };
      return c.json(await host.control(ref, command), 200);
    })
    .openapi(input, async (c) => {
      const { durability, ...answer } = c.req.valid("json");
      const ref = await host.find(c.req.valid("param").id);
      const command = { kind: "answer" as const, input: withValue(answer), durability, env };
      return c.json(await host.control(ref, command), 200);
    })
    .openapi(kill, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const { force } = c.req.valid("json");
      return c.json(await host.control(ref, { kind: "kill", force, env }), 200);
    })
    .openapi(fork, async (c) => {
      const { input: answer, ...options } = c.req.valid("json");
      const ref = await host.find(c.req.valid("param").id);
      const more = answer ? { input: withValue(answer) } : {};
      return c.json(await host.fork(ref, { ...options, ...more, env }), 201);
    })
    .openapi(retry, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const options = retryOptions(await host.read(ref), { ...c.req.valid("json"), env });
      return c.json(await host.fork(ref, options), 201);
    })
    .openapi(remove, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const force = c.req.valid("query").force === "true";
      return c.json(await host.remove(ref, { force }), 200);
    });
}

type Answer = { content: string; value?: unknown; meta?: Record<string, unknown> };

function withValue(answer: Answer): Answer {
  if (answer.value !== undefined) return answer;
  try {
    return { ...answer, value: JSON.parse(answer.content) };
  } catch {
    return answer;
  }
}
