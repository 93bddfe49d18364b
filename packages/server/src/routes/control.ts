import { z } from "@hono/zod-openapi";
import { retryOptions } from "@uncaged/workflow/host";
import { answererOf } from "../guard/role.ts";
import * as request from "../schema/request.ts";
import * as schema from "../schema/thread.ts";
import { flag } from "../schema/value.ts";
import { type Context, Routes } from "./route.ts";
import { noAnswerValue } from "./errors.ts";

type Given = Pick<z.infer<typeof request.inputBody>, "content" | "value" | "meta">;

/**
 * Returns the input of an answer.
 * @throws WorkflowError `BAD_REQUEST` (usage) without a text and a value.
 */
function inputOf({ content, value, meta }: Given) {
  if (content !== undefined) return { content, value, meta };
  if (value === undefined) throw noAnswerValue();
  return { content: typeof value === "string" ? value : JSON.stringify(value), value, meta };
}

export function controlRoutes({ host, env, cwd, drafts }: Context) {
  const routes = new Routes("Control");
  routes.add("POST /threads", {
    summary: "Start a thread",
    body: request.startBody,
    status: 201,
    answer: ["The thread. Its start record is durable.", schema.startedSchema],
    async run({ body: { workflow, document, ...body } }, call) {
      const given = { ...body, traceparent: call.req.header("traceparent") };
      if (workflow !== undefined) return host.start({ ...given, workflow, env, cwd });
      return drafts.start(document ?? "", given);
    },
  });
  routes.add("POST /threads/{id}/pause", {
    summary: "Pause a thread after its current step",
    params: request.idPath,
    answer: ["The thread will pause.", schema.controlledSchema],
    run: async ({ params }) => host.control(await host.find(params.id), { kind: "pause" }),
  });
  routes.add("POST /threads/{id}/resume", {
    summary: "Resume a paused or interrupted thread",
    params: request.idPath,
    optionalBody: request.resumeBody,
    answer: ["The thread continues.", schema.controlledSchema],
    run: async ({ params, body }) =>
      host.control(await host.find(params.id), { kind: "resume", ...body, env }),
  });
  routes.add("POST /threads/{id}/input", {
    summary: "Answer a waiting thread",
    role: "answer",
    params: request.idPath,
    body: request.inputBody,
    answer: ["The answer is committed.", schema.controlledSchema],
    async run({ params, body: { durability, question, ...given } }, call) {
      const input = { ...inputOf(given), by: answererOf(call) };
      const command = { kind: "answer", input, question, durability, env } as const;
      return host.control(await host.find(params.id), command);
    },
  });
  routes.add("POST /threads/{id}/kill", {
    summary: "End a thread",
    params: request.idPath,
    optionalBody: request.killBody,
    answer: ["The thread has ended. Its end record is durable.", schema.killedSchema],
    run: async ({ params, body: { force } }) =>
      host.control(await host.find(params.id), { kind: "kill", force, env }),
  });
  routes.add("POST /threads/{id}/fork", {
    summary: "Start a new thread from the steps of this one",
    params: request.idPath,
    optionalBody: request.forkBody,
    status: 201,
    answer: ["The new thread.", schema.forkedSchema],
    async run({ params, body: { document, ...body } }, call) {
      const by = answererOf(call);
      const edit = body.edit && { ...body.edit, by };
      const input = body.input && { ...body.input, by };
      const ref = await host.find(params.id);
      const options = { ...body, edit, input, traceparent: call.req.header("traceparent") };
      if (document !== undefined) return drafts.fork(ref, document, options);
      return host.fork(ref, { ...options, env });
    },
  });
  routes.add("POST /threads/{id}/retry", {
    summary: "Continue a failed or killed thread in a new thread",
    params: request.idPath,
    optionalBody: request.retryBody,
    status: 201,
    answer: ["The new thread.", schema.forkedSchema],
    async run({ params, body }, call) {
      const ref = await host.find(params.id);
      const edit = body.edit && { ...body.edit, by: answererOf(call) };
      const options = { ...body, edit, traceparent: call.req.header("traceparent"), env };
      return host.fork(ref, retryOptions(await host.read(ref), options));
    },
  });
  routes.add("DELETE /threads/{id}", {
    summary: "Move a thread to the trash",
    params: request.idPath,
    query: z.object({ force: flag }),
    answer: ["The thread is removed.", schema.controlledSchema],
    run: async ({ params, query }) =>
      host.remove(await host.find(params.id), { force: query.force === "true" }),
  });
  return routes.app;
}
