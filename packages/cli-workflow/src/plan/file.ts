import type { Workflow } from "@uncaged/workflow-plan";
import type { Plans } from "@uncaged/workflow-plan/service";
import { readText } from "../arguments/values.ts";
import type { Session } from "../session/session.ts";
import { configOf, surroundings, withPlans } from "./home.ts";

/** The result of storing a plan from a file: the plan is unchanged, new or changed. */
export type StoredPlan = { workflow: Workflow; state: "unchanged" | "new" | "changed" };

/**
 * Returns the text of a file that is a plan with a trigger; null for any other file. Other readers report the
 * errors of other files.
 */
export async function triggeredPlan(path: string): Promise<string | null> {
  if (!/\.(json|ya?ml)$/i.test(path)) return null;
  const text = await readText(path, "the file").catch(() => null);
  if (text === null) return null;
  const [{ isPlan }, { readDocument }] = await Promise.all([
    import("@uncaged/workflow-plan/service"),
    import("@uncaged/workflow/document"),
  ]);
  if (!isPlan(text, path)) return null;
  const { trigger } = readDocument(text, path).document as { trigger?: { type?: unknown } | null };
  const type = trigger?.type;
  return type === "cron" || type === "poll" ? text : null;
}

/**
 * Creates a plan from a file. The user must confirm the plan.
 * @throws PlannerError
 */
export const addedPlan = (session: Session, text: string, file: string): Promise<Workflow> =>
  withPlans(session, { creates: true }, async (plans) =>
    plans.create(await workflowOf(session, text, file)),
  );

/**
 * Stores the plan of a file under a name. Changes the stored plan with that name if the file differs from it.
 * @throws PlannerError, ExecutorError
 */
export const namedPlan = (
  session: Session,
  name: string,
  { file, text }: { file: string; text: string },
): Promise<StoredPlan> =>
  withPlans(session, { creates: true }, async (plans, { planHash, slugOf }) => {
    const read = await workflowOf(session, text, file);
    const given = slugOf(read.name) === name ? read : { ...read, name };
    const there = await planNamed(plans, name, slugOf);
    if (!there) return { workflow: await plans.create(given), state: "new" };
    const { id, phase, created_at } = there;
    const changed = { ...given, id, phase, created_at };
    const before = plans.draft(id) ?? there;
    if (planHash(before) === planHash(changed)) return { workflow: there, state: "unchanged" };
    return { workflow: await plans.replace(changed), state: "changed" };
  });

async function planNamed(
  plans: Plans,
  name: string,
  slugOf: (name: string) => string,
): Promise<Workflow | undefined> {
  const all = await plans.list(() => {});
  const bundled = all.find(({ metadata }) => metadata?.bundle?.name === name);
  return (
    bundled ?? all.find(({ metadata, ...plan }) => !metadata?.bundle && slugOf(plan.name) === name)
  );
}

async function workflowOf(session: Session, text: string, file: string): Promise<Workflow> {
  const { workflowIn } = await import("@uncaged/workflow-plan/service");
  return workflowIn(text, file, {
    context: { channel: "tui" },
    metadata: { cwd: session.cwd, ...surroundings(await configOf(session)) },
    now: Date.now(),
    warn: (warning) => session.note(`warning: ${warning}`),
  });
}
