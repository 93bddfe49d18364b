import { z } from "@hono/zod-openapi";
import type { PlannerSession, Workflow } from "@uncaged/workflow-plan";
import type { Planning } from "@uncaged/workflow-plan/service";
import type { Context as Call } from "hono";
import { type Context, Routes } from "../routes/route.ts";
import * as schema from "../schema/plan.ts";
import { flag, optionalText } from "../schema/value.ts";
import { PlanFeed } from "./plan-feed.ts";
import { type OpenPlans, type PlanAccess, rowsOf, viewOf } from "./plan-rows.ts";
import { answererOf } from "../guard/role.ts";
import { Turns } from "./turns.ts";
import { noTurn, planInvalid } from "./errors.ts";

const stream = z.string().describe("begin, token, turn, error: see docs/reference/server.md.");

/** Returns the routes of plans. Other processes may use the plan home at the same time. */
export function planRoutes({ streams }: Omit<Context, "plans">, open: OpenPlans) {
  let opened: Promise<PlanAccess> | null = null;
  // Only a request for a new plan creates a plan home.
  const again = async (before: typeof opened, creates: boolean): Promise<PlanAccess> => {
    const given = await before?.catch(() => null);
    const isCurrent = given && (given.plans.isKept || !(creates || given.plans.hasHome()));
    return isCurrent ? given : await open({ creates });
  };
  const access = async (creates = false): Promise<PlanAccess> => {
    const given = await (opened = again(opened, creates));
    await given.plans.sync();
    return given;
  };
  const feed = new PlanFeed(() => access());
  const routes = new Routes("Plans");
  const turns = new Turns();
  const converse = (
    call: Call,
    text: string,
    sessionOf: (planning: Planning) => PlannerSession,
    { creates = false }: { creates?: boolean } = {},
  ) =>
    streams.send(call, (signal) => {
      const begin = async () => {
        const { planning } = await access(creates);
        return { planning, session: sessionOf(planning) };
      };
      return turns.begin(begin, text, signal);
    });

  routes.add("GET /plans", {
    summary: "List the plans, newest first",
    query: z.object({
      waits: flag.describe("True: only plans that wait for a person."),
    }),
    answer: ["The plans, each with its trigger and its last run.", z.array(schema.planRowSchema)],
    run: async ({ query }) => await rowsOf(await access(), query.waits === "true"),
  });
  routes.add("GET /plans/events", {
    summary: "Watch the plans: new, changed and removed plans",
    query: z.object({
      from: optionalText.describe("The id of an event: continues after it if possible."),
    }),
    headers: z.object({ "last-event-id": optionalText }),
    answer: [
      "plans, plan, plan_removed: see docs/reference/server.md.",
      z.string(),
      "text/event-stream",
    ],
    run: ({ query: { from } }, call) =>
      streams.send(call, async (signal) => {
        await access();
        return feed.listen(call.req.header("last-event-id") || from, signal);
      }),
  });
  routes.add("GET /plans/{id}", {
    summary: "Show a plan: its runs, its trigger, and the facts for its confirmation",
    params: schema.planPath,
    answer: ["The plan.", schema.planViewSchema],
    run: async ({ params }) => await viewOf(await access(), params.id),
  });
  routes.add("POST /plans", {
    summary: "Create a plan from a request",
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ body }, call) =>
      converse(call, body.text, (planning) => planning.newSession(), { creates: true }),
  });
  routes.add("POST /planner/{session}", {
    summary: "Continue a conversation with an answer or a request for a change",
    params: schema.plannerPath,
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ params, body }, call) =>
      converse(call, body.text, (planning) => planning.session(params.session)),
  });
  routes.add("GET /planner/{session}", {
    summary: "Show the finished turns of a conversation",
    params: schema.plannerPath,
    answer: ["The conversation.", schema.conversationSchema],
    async run({ params: { session } }) {
      const { turn, ...conversation } = (await access()).planning.conversation(session);
      const isHere = turns.find(session) !== null;
      return {
        ...conversation,
        turn: turn === "at work" && !isHere ? ("elsewhere" as const) : turn,
      };
    },
  });
  routes.add("GET /planner/{session}/events", {
    summary: "Stream the current turn of a conversation from its beginning",
    params: schema.plannerPath,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    others: { 204: { description: "No turn is running." } },
    run: ({ params: { session } }, call) =>
      streams.send(call, (signal) => turns.find(session)?.listen(signal) ?? null),
  });
  routes.add("POST /planner/{session}/stop", {
    summary: "Stop the current turn of a conversation",
    params: schema.plannerPath,
    answer: ["The turn is stopping.", schema.stoppedSchema],
    run({ params: { session } }) {
      const turn = turns.find(session);
      if (!turn) throw noTurn(session);
      turn.stop();
      return { session };
    },
  });
  routes.add("POST /plans/{id}/modify", {
    summary: "Change a plan with a request",
    params: schema.planPath,
    body: schema.wishBody,
    answer: ["The planner's text as it comes, then its turn.", stream, "text/event-stream"],
    run: ({ params, body }, call) =>
      converse(call, body.text, (planning) => planning.sessionAbout(params.id)),
  });
  routes.add("POST /plans/{id}/definition", {
    summary: "Replace the definition of a plan; the change must be confirmed",
    params: schema.planPath,
    query: z.object({ hash: optionalText.describe("Refused if the plan has another hash.") }),
    body: schema.definitionBody,
    answer: ["The plan.", schema.planViewSchema],
    async run({ params, query, body }) {
      const given = await access();
      const { plans } = given;
      const before = plans.draft(params.id) ?? plans.get(params.id);
      const changed = await edited(before, plans.secrets.masked(body));
      await plans.replace(changed, { planHash: query.hash });
      return await viewOf(given, before.id);
    },
  });
  routes.add("POST /plans/{id}/confirm", {
    summary: "Confirm a plan, which then runs or waits for its trigger",
    params: schema.planPath,
    optionalBody: schema.confirmBody,
    answer: ["The plan is confirmed.", schema.startedPlanSchema],
    run: async ({ params, body }) =>
      (await access()).plans.confirm(params.id, { planHash: body.hash }),
  });
  routes.add("POST /plans/{id}/run", {
    summary: "Run a plan now, regardless of its trigger",
    params: schema.planPath,
    optionalBody: schema.runPlanBody,
    answer: ["The run has started.", schema.startedPlanSchema],
    run: async ({ params, body }) => (await access()).plans.run(params.id, { data: body.data }),
  });
  routes.add("POST /plans/{id}/retry", {
    summary: "Repeat the unsuccessful steps of a failed plan's last run",
    params: schema.planPath,
    answer: ["A new run has started.", schema.startedPlanSchema],
    run: async ({ params }) => (await access()).plans.retry(params.id),
  });
  routes.add("POST /plans/{id}/answer", {
    summary: "Decide about a failed step",
    role: "answer",
    params: schema.planPath,
    body: schema.decisionBody,
    answer: ["The decision is committed.", schema.decidedSchema],
    async run({ params, body: { decision, question: token, stepId } }, call) {
      const { plans } = await access();
      return plans.answer(params.id, decision, { by: answererOf(call), stepId, token });
    },
  });
  const changes = {
    pause: ["Pause a plan: no step starts and no trigger fires", "It is paused."],
    resume: ["Resume a paused plan", "It is resumed."],
    reject: ["Reject an unconfirmed plan or change", "It is rejected."],
  } as const;
  for (const [change, [summary, answer]] of Object.entries(changes)) {
    routes.add(`POST /plans/{id}/${change}`, {
      ...{ summary, params: schema.planPath, answer: [answer, schema.planSchema] },
      run: async ({ params }) =>
        await (await access()).plans[change as keyof typeof changes](params.id),
    });
  }
  routes.add("POST /plans/{id}/cancel", {
    summary: "End the run of a plan, or discard an unconfirmed change",
    params: schema.planPath,
    answer: ["The run has ended, or the change is discarded.", schema.planSchema],
    run: async ({ params }) => (await (await access()).plans.cancel(params.id)).workflow,
  });
  routes.add("DELETE /plans/{id}", {
    summary: "Delete a plan and its runs; their threads remain",
    params: schema.planPath,
    answer: ["The plan is deleted.", schema.deletedPlanSchema],
    run: async ({ params }) => (await access()).plans.remove(params.id),
  });
  // The failed request already reported that the plans could not be opened.
  const close = (): void => void opened?.then(({ plans }) => plans.close()).catch(() => undefined);
  return { app: routes.app, feed, close };
}

/**
 * Returns a plan with another definition, checked like a definition by a model.
 * @throws WorkflowError `PLAN_INVALID`
 */
async function edited(before: Workflow, given: z.infer<typeof schema.definitionBody>) {
  const { checkPlan, placed } = await import("@uncaged/workflow-plan");
  const { metadataProblems } = await import("@uncaged/workflow-plan/service");
  const { errors: wrong, plan } = checkPlan(given);
  const { metadata = before.metadata } = given;
  const errors = [...wrong, ...metadataProblems(given)];
  if (plan && errors.length === 0)
    return { ...before, ...plan, steps: placed(plan.steps), ...(metadata && { metadata }) };
  throw planInvalid(errors.map(({ message }) => message));
}
