import type { Workflow } from "@uncaged/workflow-plan";
import type { Planning, Plans, SandboxReport, Wanted } from "@uncaged/workflow-plan/service";
import { isCancelled } from "@uncaged/workflow-plan/terms";
import { toErrorRecord } from "@uncaged/workflow/host";
import type { z } from "@hono/zod-openapi";
import type { planRowSchema, planViewSchema, wantedSchema } from "../schema/plan.ts";

/** The resources of the plan routes, opened at the first request. */
export type PlanAccess = {
  plans: Plans;
  planning: Planning;
  /** Returns the sandbox of a plan's steps. @throws ConfigError */
  sandbox: (workflow: Workflow) => Promise<Pick<SandboxReport, "facts">>;
  /** Tells whether a process fires triggers; null if unknown. */
  isFiring: () => boolean | null;
  /** Receives each unreadable plan, which lists omit. */
  onDamaged: (id: string, error: unknown) => void;
};

/** Opens the plans. With `creates`, creates a missing plan home; otherwise a missing plan home counts as empty. */
export type OpenPlans = (options: { creates: boolean }) => Promise<PlanAccess>;

type PlanRow = z.infer<typeof planRowSchema>;

/** Returns the decisions that runs wait for, by plan. */
export const wantedOf = async (plans: Plans): Promise<Map<string, Wanted[]>> =>
  Map.groupBy(await plans.wanted(), ({ workflowId }) => workflowId);

/** Returns the rows of all plans, newest first, or only of the plans that wait for a person. */
export async function rowsOf(access: PlanAccess, onlyWaiting = false): Promise<PlanRow[]> {
  const { onDamaged, plans } = access;
  const all = await plans.list(onDamaged);
  const wanted = await wantedOf(plans);
  const shown = onlyWaiting ? all.filter((plan) => waits(plan, wanted.get(plan.id))) : all;
  const isFiring = access.isFiring();
  return shown.map((plan) => rowOf(plans, plan, { isFiring, wanted: wanted.get(plan.id) }));
}

type Around = { isFiring: boolean | null; wanted?: readonly Wanted[] };

/** Returns the row of a plan, with the decisions that its run waits for. */
export const rowOf = (plans: Plans, plan: Workflow, { isFiring, wanted = [] }: Around): PlanRow => {
  const { last_run, ...summary } = plans.summary(plan);
  return {
    ...plan,
    ...summary,
    last_run: last_run && withCancelled(last_run),
    fires: fires(plan, isFiring),
    wanted: wanted.map(decisionOf),
    waits: waits(plan, wanted),
  };
};

const withCancelled = <Row extends { error: string | null }>(row: Row) => ({
  ...row,
  cancelled: isCancelled(row),
});

/** Tells whether the trigger of a confirmed plan fires; null for a plan without an active trigger. */
export const fires = ({ phase, trigger }: Workflow, isFiring: boolean | null): boolean | null =>
  trigger.type !== "manual" && (phase === "active" || phase === "executing") ? isFiring : null;

/** Tells whether a plan waits for a person: to confirm it or its change, or to make a decision. */
const waits = ({ metadata, phase }: Workflow, wanted: readonly Wanted[] = []): boolean =>
  phase === "awaiting_confirmation" || metadata?.draft !== undefined || wanted.length > 0;

/** Converts a decision to the schema of the API. */
const decisionOf = (wanted: Wanted): z.infer<typeof wantedSchema> => {
  const { error, expiresAt, runId, stepId, threadId, token, workflowId } = wanted;
  return { workflowId, runId, threadId, stepId, question: token, error, expiresAt };
};

/** Returns a plan with its runs, and the facts that its confirmation shows. */
export async function viewOf(
  { isFiring, plans, sandbox }: PlanAccess,
  id: string,
): Promise<z.infer<typeof planViewSchema>> {
  const { planHash } = await import("@uncaged/workflow-plan/service");
  const view = await plans.show(id);
  const draft = plans.draft(view.id);
  const shown = draft ?? view;
  const report = await sandbox(shown).then(
    ({ facts }) => facts,
    (error: unknown) => [toErrorRecord(error).message],
  );
  const wanted = (await wantedOf(plans)).get(view.id) ?? [];
  return {
    ...view,
    runs: view.runs.map(({ steps, ...run }) => ({
      ...withCancelled(run),
      steps: steps.map(withCancelled),
    })),
    next_fire_at: plans.summary(view).next_fire_at,
    fires: fires(view, isFiring()),
    hash: planHash(shown),
    draft,
    preview: plans.preview(shown, report),
    wanted: wanted.map(decisionOf),
  };
}
