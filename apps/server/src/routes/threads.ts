import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { createRoute, z } from "@hono/zod-openapi";
import { attemptJson, threadDiff, threadJson } from "@uncaged/workflow/host";
import { attemptsSchema } from "../schema/attempt.ts";
import { diffQuery, idPath, stepsQuery, threadQuery, threadsQuery } from "../schema/request.ts";
import {
  diffSchema,
  ledgerSchema,
  liveRowSchema,
  relativeSchema,
  stepsPageSchema,
  threadRowSchema,
  threadSchema,
} from "../schema/thread.ts";
import { answers, type Context, routes } from "./route.ts";

const tags = ["Threads"];

const pageHeaders = z.object({
  "X-Total-Count": z.string().optional().openapi({
    description: "How many there are in all, where no log need be read to know it.",
  }),
  Link: z.string().optional().openapi({
    description: 'Where the next page is, as rel="next"; absent on the last.',
  }),
});

const list = createRoute({
  method: "get",
  path: "/threads",
  tags,
  summary: "List threads, newest first",
  request: { query: threadsQuery },
  responses: answers("A page of threads.", z.array(threadRowSchema), pageHeaders),
});

const live = createRoute({
  method: "get",
  path: "/live",
  tags,
  summary: "List the threads that a worker runs now",
  responses: answers("The live threads, oldest first.", z.array(liveRowSchema)),
});

const show = createRoute({
  method: "get",
  path: "/threads/{id}",
  tags,
  summary: "Show a thread",
  request: { params: idPath, query: threadQuery },
  responses: answers("The thread.", threadSchema),
});

const steps = createRoute({
  method: "get",
  path: "/threads/{id}/steps",
  tags,
  summary: "A page of a thread's steps",
  request: { params: idPath, query: stepsQuery },
  responses: answers("The steps from a number on.", stepsPageSchema),
});

const ledger = createRoute({
  method: "get",
  path: "/threads/{id}/ledger",
  tags,
  summary: "What a thread spent",
  request: { params: idPath },
  responses: answers("By role, by model and by step.", ledgerSchema),
});

const attempts = createRoute({
  method: "get",
  path: "/threads/{id}/attempts",
  tags,
  summary: "The attempts of a thread: what each execution of a role did and spent",
  request: { params: idPath },
  responses: answers("In the order in which they ended; then those that run.", attemptsSchema),
});

const family = createRoute({
  method: "get",
  path: "/threads/{id}/family",
  tags,
  summary: "The threads that a thread was forked from, and all their forks",
  request: { params: idPath },
  responses: answers(
    "The family, oldest first, the thread itself included.",
    z.array(relativeSchema),
  ),
});

const diff = createRoute({
  method: "get",
  path: "/threads/{id}/diff",
  tags,
  summary: "Compare two threads step by step",
  request: { params: idPath, query: diffQuery },
  responses: answers("The comparison; `a` is the thread of the path.", diffSchema),
});

// Threads that are created or removed in between move offsets, but not ids.
function linkToNext(url: string, before: string): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.delete("offset");
  searchParams.set("before", before);
  return `<${pathname}?${searchParams.toString()}>; rel="next"`;
}

export function threadRoutes({ host, spendings }: Context) {
  return routes()
    .openapi(list, async (c) => {
      const { details, ...query } = c.req.valid("query");
      const { rows, total, next } = await host.threads(query);
      if (total !== null) c.header("X-Total-Count", String(total));
      if (next !== null) c.header("Link", linkToNext(c.req.url, next));
      if (details !== "true") return c.json(rows, 200);
      const all = await Promise.all(
        rows.map(async (row) => ({ ...row, ...(await spendings.of(row)) })),
      );
      return c.json(all, 200);
    })
    .openapi(live, async (c) => c.json(await host.live(), 200))
    .openapi(show, async (c) => {
      const view = await host.read(await host.find(c.req.valid("param").id));
      const { steps: all, ...thread } = threadJson(view);
      const shown = c.req.valid("query").steps === "false" ? [] : all;
      const last = all.at(-1) ?? null;
      const failure = view.status === "failed" ? view.error : null;
      return c.json({ ...thread, steps: shown, stepCount: all.length, last, failure }, 200);
    })
    .openapi(steps, async (c) => {
      const { from, limit } = c.req.valid("query");
      const view = await host.read(await host.find(c.req.valid("param").id));
      const page = view.steps.slice(from - 1, from - 1 + limit);
      const numbered = page.map((step, index) => ({ number: from + index, ...step }));
      return c.json({ threadId: view.threadId, total: view.steps.length, steps: numbered }, 200);
    })
    .openapi(ledger, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      return c.json(ledgerOf(await host.attempts(ref)), 200);
    })
    .openapi(attempts, async (c) => {
      const ref = await host.find(c.req.valid("param").id);
      const all = (await host.attempts(ref)).map(attemptJson);
      return c.json({ threadId: ref.threadId, attempts: all }, 200);
    })
    .openapi(family, async (c) => {
      return c.json(await host.family(await host.find(c.req.valid("param").id)), 200);
    })
    .openapi(diff, async (c) => {
      const a = await host.read(await host.find(c.req.valid("param").id));
      const b = await host.read(await host.find(c.req.valid("query").with));
      return c.json(threadDiff(a, b), 200);
    });
}
