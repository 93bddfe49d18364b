import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { z } from "@hono/zod-openapi";
import { attemptJson } from "@uncaged/workflow/records";
import { type Host, threadDiff, threadJson, type ThreadRow } from "@uncaged/workflow/host";
import { isMoving, fileDiff } from "@uncaged/workflow/internal";
import { attemptsSchema } from "../schema/attempt.ts";
import { idPath, threadsQuery } from "../schema/request.ts";
import * as schema from "../schema/thread.ts";
import { count, flag } from "../schema/value.ts";
import { type Context, Routes } from "./route.ts";

const pageHeaders = z.object({
  "X-Total-Count": z
    .string()
    .optional()
    .describe("The total number, if it is known without reading logs."),
  Link: z
    .string()
    .optional()
    .describe('Where the next page is, as rel="next"; absent on the last.'),
});

// Offsets shift when threads are created or removed; ids do not.
function linkToNext(url: string, before: string): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.delete("offset");
  searchParams.set("before", before);
  return `<${pathname}?${searchParams.toString()}>; rel="next"`;
}

export function threadRoutes({ host }: Context) {
  const shownBeside = spendings(host);
  const routes = new Routes("Threads");
  routes.add("GET /threads", {
    summary: "List threads, newest first",
    query: threadsQuery,
    answer: ["A page of threads.", z.array(schema.threadRowSchema)],
    answerHeaders: pageHeaders,
    async run({ query: { details, ...query } }, call) {
      const { rows, total, next } = await host.threads(query);
      if (total !== null) call.header("X-Total-Count", String(total));
      if (next !== null) call.header("Link", linkToNext(call.req.url, next));
      if (details !== "true") return rows;
      return Promise.all(rows.map(async (row) => ({ ...row, ...(await shownBeside(row)) })));
    },
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
    answer: ["By role, by model and by step.", schema.ledgerSchema],
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

/** The running role, or the role of the last step, and the spending. */
type Spending = { role: string | null; spent: { tokens: number; cost: number; unpriced: number } };

const mostKnown = 10_000;
const restMs = 1_000;

/**
 * Returns a cached reader of the role and spending for lists of threads. Reads a thread again only when its row has
 * changed, because a lost worker changes the spending without a step. Reads a running thread at most once a second.
 */
function spendings(host: Host): (row: ThreadRow) => Promise<Spending> {
  const known = new Map<string, { row: ThreadRow; readAt: number; spending: Spending }>();
  return async (row) => {
    const { threadId } = row;
    let entry = known.get(threadId);
    if (!entry || hasChanged(entry.row, row, entry.readAt)) {
      entry = { row, readAt: performance.now(), spending: await spendingOf(host, row) };
      if (known.size >= mostKnown) known.clear();
      known.set(threadId, entry);
    }
    return { ...entry.spending, ...(await atWork(host, row)) };
  };
}

function hasChanged(before: ThreadRow, row: ThreadRow, readAt: number): boolean {
  if (before.status !== row.status) return true;
  const isSame = before.steps === row.steps && before.updatedAt === row.updatedAt;
  return !isSame && (!isMoving(row.status) || performance.now() - readAt > restMs);
}

async function atWork(host: Host, row: ThreadRow): Promise<{ role?: string }> {
  if (row.status !== "running") return {};
  for await (const { record } of host.log(row, { backward: true })) {
    const { stepID, step = 0 } = record;
    if (step <= row.steps) break;
    if (typeof stepID === "string") return { role: stepID };
  }
  return {};
}

async function spendingOf(host: Host, row: ThreadRow): Promise<Spending> {
  // A removed or unreadable thread still has its row in the list.
  const thread = await host.read(row).catch(() => null);
  if (!thread) return { role: null, spent: { tokens: 0, cost: 0, unpriced: 0 } };
  const { tokens, cost, unpriced } = ledgerOf(await host.attempts(row)).total;
  return { role: thread.steps.at(-1)?.role ?? null, spent: { tokens, cost, unpriced } };
}
