import type { PlanAccess } from "@uncaged/workflow-server";
import type { Session } from "../session/session.ts";
import { openPlansOf, plannerOf, sandboxOf } from "./home.ts";

/** The plans of a call as the server uses them. @throws ConfigError, ExecutorError */
export async function planAccess(session: Session): Promise<PlanAccess> {
  const { Planning } = await import("@uncaged/workflow-plan/service");
  const plans = await openPlansOf(session);
  return {
    plans,
    planning: new Planning(plans, await plannerOf(session, plans)),
    sandbox: (workflow) => sandboxOf(session, plans, workflow),
  };
}
