import { z } from "@hono/zod-openapi";
import { retryOptions } from "@uncaged/workflow/host";
import {
  forkBody,
  idPath,
  inputBody,
  killBody,
  resumeBody,
  retryBody,
  startBody,
} from "../schema/request.ts";
import { controlledSchema, forkedSchema, killedSchema, startedSchema } from "../schema/thread.ts";
import { flag } from "../schema/value.ts";
import { type Context, Routes } from "./route.ts";

export function controlRoutes({ host, env, cwd }: Context) {
  const routes = new Routes("Control");
  routes.add("POST /threads", {
    summary: "Start a thread",
    body: startBody,
    status: 201,
    answer: ["Its start record is on the disk.", startedSchema],
    run: ({ body }) => host.start({ ...body, env, cwd }),
  });
  routes.add("POST /threads/{id}/pause", {
    summary: "Pause a thread after the step that it is at",
    params: idPath,
    answer: ["It will pause.", controlledSchema],
    run: async ({ params }) => host.control(await host.find(params.id), { kind: "pause" }),
  });
  routes.add("POST /threads/{id}/resume", {
    summary: "Go on with a paused or interrupted thread",
    params: idPath,
    optionalBody: resumeBody,
    answer: ["It goes on.", controlledSchema],
    run: async ({ params, body }) =>
      host.control(await host.find(params.id), { kind: "resume", ...body, env }),
  });
  routes.add("POST /threads/{id}/input", {
    summary: "Answer a waiting thread",
    params: idPath,
    body: inputBody,
    answer: ["The answer is committed.", controlledSchema],
    async run({ params, body: { durability, ...answer } }) {
      const input = withValue(answer);
      return host.control(await host.find(params.id), { kind: "answer", input, durability, env });
    },
  });
  routes.add("POST /threads/{id}/kill", {
    summary: "End a thread now",
    params: idPath,
    optionalBody: killBody,
    answer: ["Its end record is on the disk.", killedSchema],
    run: async ({ params, body: { force } }) =>
      host.control(await host.find(params.id), { kind: "kill", force, env }),
  });
  routes.add("POST /threads/{id}/fork", {
    summary: "Start a new thread from the steps of this one",
    params: idPath,
    optionalBody: forkBody,
    status: 201,
    answer: ["The new thread.", forkedSchema],
    async run({ params, body: { input: answer, ...options } }) {
      const input = answer && withValue(answer);
      return host.fork(await host.find(params.id), { ...options, input, env });
    },
  });
  routes.add("POST /threads/{id}/retry", {
    summary: "Take up a failed or killed thread in a new one",
    params: idPath,
    optionalBody: retryBody,
    status: 201,
    answer: ["The new thread.", forkedSchema],
    async run({ params, body }) {
      const ref = await host.find(params.id);
      return host.fork(ref, retryOptions(await host.read(ref), { ...body, env }));
    },
  });
  routes.add("DELETE /threads/{id}", {
    summary: "Delete a thread's logs",
    params: idPath,
    query: z.object({ force: flag }),
    answer: ["They are gone.", controlledSchema],
    run: async ({ params, query }) =>
      host.remove(await host.find(params.id), { force: query.force === "true" }),
  });
  return routes.app;
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
