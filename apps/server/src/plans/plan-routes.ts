import { z } from "@hono/zod-openapi";
import type { PlannerOutput, StreamCallbacks } from "@uncaged/workflow-plan";
import type { Planning, Turned } from "@uncaged/workflow-plan/service";
import { foundProblems, toErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import { type Context, Routes } from "../routes/route.ts";
import * as schema from "../schema/plan.ts";
import type { Source } from "../stream/connections.ts";
import { type Bytes, sseBytes } from "../stream/sse.ts";
import { flag, optionalText } from "../schema/value.ts";
import { PlanFeed } from "./plan-feed.ts";
import { type OpenPlans, type PlanAccess, rowsOf, viewOf } from "./plan-rows.ts";

const stream = z.string().describe("token, turn, error: see docs/server.md.");

/** The routes of plans; each of them reads and writes the plan home, which other processes do as well. */
export function planRoutes({ connections }: Omit<Context, "plans">, open: OpenPlans) {
  let opened: Promise<PlanAccess> | null = null;
  // Only a request for a new plan makes a plan home.
  const again = async (before: typeof opened, creates: boolean): Promise<PlanAccess> => {
    const given = await before?.catch(() => null);
    const isCurrent = given && (given.plans.isKept || !(creates || given.plans.hasHome()));
    return isCurrent ? given : await open({ creates });
  };
  const access = (creates = false): Promise<PlanAccess> => (opened = again(opened, creates));
  const feed = new PlanFeed(() => access());
  const routes = new Routes("Plans");
  const converse = (
    take: (planning: Planning, callbacks: StreamCallbacks) => Promise<Turned>,
    { creates = false }: { creates?: boolean } = {},
  ) =>
    connections.send(
      () =>
        new Conversation(async (onToken) => {
          const { planning } = await access(creates);
          return await take(planning, { onToken });
        }),
    );

  routes.add("GET /plans", {
    summary: "List the plans, newest first",
    query: z.object({
      waits: flag.describe("With true only those that wait for a person."),
    }),
    answer: ["The plans, each with its trigger and its last run.", z.array(schema.planRowSchema)],
    run: async ({ query }) => await rowsOf(await access(), query.waits === "true"),
  });
  routes.add("GET /plans/events", {
    summary: "Watch the plans: each that is new or changed, and removals",
    query: z.object({
      from: optionalText.describe("The id of an event: begins behind it, where that is possible."),
    }),
    headers: z.object({ "last-event-id": optionalText }),
    answer: ["plans, plan, plan_removed: see docs/server.md.", z.string(), "text/event-stream"],
    async run({ query: { from } }, { req }) {
      await access();
      return connections.send(() => feed.listen(req.header("last-event-id") || from));
    },
  });
  routes.add("GET /plans/{id}", {
    summary: "Show a plan: its runs, its trigger, and what a confirmation would confirm",
    params: schema.planPath,
    answer: ["The plan.", schema.planViewSchema],
    run: async ({ params }) => await viewOf(await access(), params.id),
  });
  routes.add("POST /plans", {
    summary: "Have a plan made of a request",
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ body }) =>
      converse((planning, callbacks) => planning.start(body.text, callbacks), { creates: true }),
  });
  routes.add("POST /planner/{session}", {
    summary: "Go on with a conversation: an answer, or what is to change",
    params: schema.plannerPath,
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ params, body }) =>
      converse((planning, callbacks) => planning.answer(params.session, body.text, callbacks)),
  });
  routes.add("POST /plans/{id}/modify", {
    summary: "Have a plan changed",
    params: schema.planPath,
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ params, body }) =>
      converse((planning, callbacks) => planning.modify(params.id, body.text, callbacks)),
  });
  routes.add("POST /plans/{id}/definition", {
    summary: "Put another definition in the place of a plan's, to be confirmed",
    params: schema.planPath,
    body: schema.definitionBody,
    answer: ["The plan.", schema.planViewSchema],
    async run({ params, body }) {
      const given = await access();
      const { plans } = given;
      const before = plans.draft(params.id) ?? plans.get(params.id);
      plans.replace(await edited(before, plans.secrets.masked(body)));
      return await viewOf(given, before.id);
    },
  });
  routes.add("POST /plans/{id}/confirm", {
    summary: "Confirm a plan: it runs now, or waits for its trigger",
    params: schema.planPath,
    optionalBody: schema.confirmBody,
    answer: ["It is confirmed.", schema.startedPlanSchema],
    run: async ({ params, body }) =>
      (await access()).plans.confirm(params.id, { planHash: body.hash }),
  });
  routes.add("POST /plans/{id}/run", {
    summary: "Run a plan now, whatever its trigger is",
    params: schema.planPath,
    optionalBody: schema.runPlanBody,
    answer: ["The run begins.", schema.startedPlanSchema],
    run: async ({ params, body }) => (await access()).plans.run(params.id, { data: body.data }),
  });
  routes.add("POST /plans/{id}/retry", {
    summary: "Do again what has not succeeded in the last run of a failed plan",
    params: schema.planPath,
    answer: ["A new run begins.", schema.startedPlanSchema],
    run: async ({ params }) => (await access()).plans.retry(params.id),
  });
  routes.add("POST /plans/{id}/answer", {
    summary: "Decide what becomes of a step that failed",
    params: schema.planPath,
    body: schema.decisionBody,
    answer: ["The decision is committed.", schema.decidedSchema],
    async run({ params, body: { decision, stepId } }) {
      const { plans } = await access();
      return plans.answer(params.id, decision, { by: "console", stepId });
    },
  });
  const changes = {
    pause: ["Let no step of a plan begin any more, and no trigger fire", "It is paused."],
    resume: ["Let a paused plan go on", "It goes on."],
    reject: ["Take back a plan, or a change, that was to be confirmed", "It is taken back."],
  } as const;
  for (const [change, [summary, answer]] of Object.entries(changes)) {
    routes.add(`POST /plans/{id}/${change}`, {
      ...{ summary, params: schema.planPath, answer: [answer, schema.planSchema] },
      run: async ({ params }) =>
        await (await access()).plans[change as keyof typeof changes](params.id),
    });
  }
  routes.add("POST /plans/{id}/cancel", {
    summary: "End the run of a plan now, or take back what is to be confirmed",
    params: schema.planPath,
    answer: ["Its run has ended, or there is nothing to confirm.", schema.planSchema],
    run: async ({ params }) => (await (await access()).plans.cancel(params.id)).workflow,
  });
  routes.add("DELETE /plans/{id}", {
    summary: "Delete a plan and its runs; the threads of these stay",
    params: schema.planPath,
    answer: ["It is gone.", schema.deletedPlanSchema],
    run: async ({ params }) => (await access()).plans.remove(params.id),
  });
  return { app: routes.app, feed, close: () => void opened?.then(({ plans }) => plans.close()) };
}

/** A plan with another definition, checked as a model's is. @throws WorkflowError `PLAN_INVALID` */
async function edited<Plan extends PlannerOutput>(before: Plan, given: unknown): Promise<Plan> {
  const { checkPlan, placed } = await import("@uncaged/workflow-plan");
  const { errors, plan } = checkPlan(given);
  if (plan) return { ...before, ...plan, steps: placed(plan.steps) };
  const found = foundProblems(errors.map(({ message }) => message));
  const hint = "correct the plan";
  throw new WorkflowError({ code: "PLANNER_ERROR", kind: "usage", ...found, hint });
}

/** The stream of one turn. It ends with the turn, or with the error in its place; who leaves it does not end the turn. */
class Conversation implements Source {
  readonly #waiting: Bytes[] = [];
  #more = Promise.withResolvers<void>();
  #isOver = false;

  constructor(turn: (onToken: (text: string) => void) => Promise<Turned>) {
    turn((text) => this.#push("token", { text }))
      .then((turned) => this.#push("turn", turned))
      .catch((error: unknown) => {
        const { code, hint = null, message } = toErrorRecord(error);
        this.#push("error", { code, message, hint });
      })
      .finally(() => {
        this.#isOver = true;
        this.#more.resolve();
      });
  }

  #push(name: string, data: unknown): void {
    this.#waiting.push(sseBytes(name, data));
    this.#more.resolve();
  }

  async next(): Promise<Bytes | null> {
    while (this.#waiting.length === 0) {
      if (this.#isOver) return null;
      await this.#more.promise;
      this.#more = Promise.withResolvers();
    }
    return Buffer.concat(this.#waiting.splice(0));
  }

  close(): void {
    this.#waiting.length = 0;
  }
}
