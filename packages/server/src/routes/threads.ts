import { z } from "@hono/zod-openapi";
import { threadDiff, threadJson } from "@uncaged/workflow/host";
import { fileDiff } from "@uncaged/workflow/internal";
import { attemptJson } from "@uncaged/workflow/records";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { compress } from "hono/compress";
import { preparing } from "../guard/role.ts";
import { attemptsSchema } from "../schema/attempt.ts";
import { idPath, threadsFilter, threadsQuery } from "../schema/request.ts";
import * as schema from "../schema/thread.ts";
import { count, flag } from "../schema/value.ts";
import { type Context, Routes } from "./route.ts";

const pageHeaders = z.object({
  "X-Total-Count": z
    .string()
    .optional()
    .describe("The number of matching threads, if it is known without reading logs."),
  Link: z
    .string()
    .optional()
    .describe('The URL of the next page, as rel="next"; absent on the last page.'),
});

// Offsets shift when threads are created or removed; ids do not.
function linkToNext(url: string, before: string): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.delete("offset");
  searchParams.set("before", before);
  return `<${pathname}?${searchParams.toString()}>; rel="next"`;
}

export function threadRoutes({ host }: Context) {
  const routes = new Routes("Threads");
  // Compressed rows arrive sooner over a slow connection.
  routes.app.use("/threads", preparing(compress()));
  routes.add("GET /threads", {
    summary: "List threads, newest first",
    query: threadsQuery,
    answer: ["A page of threads.", z.array(schema.threadRowSchema)],
    answerHeaders: pageHeaders,
    async run({ query }, call) {
      const { rows, total, next } = await host.threads(query);
      if (total !== null) call.header("X-Total-Count", String(total));
      if (next !== null) call.header("Link", linkToNext(call.req.url, next));
      return rows;
    },
  });
  routes.add("GET /threads/summary", {
    summary: "Show counts, times and costs of threads by the hour of their start",
    query: threadsFilter,
    answer: ["The hours with threads, oldest first.", schema.summarySchema],
    run: ({ query }) => host.summary(query),
  });
  routes.add("GET /live", {
    summary: "List the threads that a worker runs now",
    answer: ["The live threads, oldest first.", z.array(schema.liveRowSchema)],
    run: () => host.live(),
  });
  routes.add("GET /threads/{id}", {
    summary: "Show a thread",
    params: idPath,
    query: z.object({
      steps: flag.describe("False: `steps` is empty; see `stepCount`."),
    }),
    answer: ["The thread.", schema.threadSchema],
    async run({ params, query }) {
      const view = await host.read(await host.find(params.id));
      const { steps: all, error: _, ...thread } = threadJson(view);
      const steps = query.steps === "false" ? [] : all;
      const last = all.at(-1) ?? null;
      const failure = view.status === "failed" ? view.error : null;
      return { ...thread, steps, stepCount: all.length, last, failure };
    },
  });
  routes.add("GET /threads/{id}/steps", {
    summary: "A page of a thread's steps",
    params: idPath,
    query: z.object({
      from: count(1, 1_000_000_000).default(1).describe("The first step's number."),
      limit: count(1, 1000).default(100),
    }),
    answer: ["The steps, from the requested number.", schema.stepsPageSchema],
    async run({ params, query: { from, limit } }) {
      const { threadId, steps } = await host.read(await host.find(params.id));
      const page = steps.slice(from - 1, from - 1 + limit);
      const numbered = page.map((step, index) => ({ number: from + index, ...step }));
      return { threadId, total: steps.length, steps: numbered };
    },
  });
  routes.add("GET /threads/{id}/ledger", {
    summary: "Show the spending of a thread",
    params: idPath,
    answer: ["The ledger by role, by model and by step.", schema.ledgerSchema],
    run: async ({ params }) => ledgerOf(await host.attempts(await host.find(params.id))),
  });
  routes.add("GET /threads/{id}/attempts", {
    summary: "List the attempts of a thread: each execution of a role, with its spending",
    params: idPath,
    answer: ["Ended attempts in the order of their ends, then running attempts.", attemptsSchema],
    async run({ params }) {
      const ref = await host.find(params.id);
      const attempts = (await host.attempts(ref)).map(attemptJson);
      return { threadId: ref.threadId, attempts };
    },
  });
  routes.add("GET /threads/{id}/family", {
    summary: "The threads that a thread was forked from, and all their forks",
    params: idPath,
    answer: [
      "The family, oldest first, the thread itself included.",
      z.array(schema.relativeSchema),
    ],
    run: async ({ params }) => host.family(await host.find(params.id)),
  });
  routes.add("GET /threads/{id}/diff", {
    summary: "Compare two threads step by step",
    params: idPath,
    query: z.object({ with: z.string().describe("The other thread.") }),
    answer: ["The comparison; `a` is the thread of the path.", schema.diffSchema],
    async run({ params, query }) {
      const a = await host.read(await host.find(params.id));
      const b = await host.read(await host.find(query.with));
      return { ...threadDiff(a, b), files: await fileDiff(a, b) };
    },
  });
  return routes.app;
}
