import type { TickOptions } from "@uncaged/workflow-plan/service";
import { isoTime } from "../output/text.ts";
import { defineSubcommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import {
  type AgentOptions,
  agentOption,
  configOf,
  exitCodeOf,
  rootOf,
  userHomeOf,
  withPlans,
} from "./home.ts";

export const tick = defineSubcommand({
  summary: "fire all due triggers, then end: for a cron job or a timer, each minute",
  declare: agentOption,
  examples: ["uncaged-workflow plan tick", "* * * * * uncaged-workflow plan tick --quiet"],
  run: (session, options: AgentOptions) =>
    withPlans(session, { ...options, creates: true }, async (plans, service) => {
      const checks = checksOf(session, service, plans.home);
      const errors: unknown[] = [];
      const onError = (_id: string, error: unknown) => void errors.push(error);
      const ticked = await service.tick(plans, { ...checks, onError });
      const { fired, next } = ticked;
      session.show(ticked, () =>
        fired.map(({ runId, workflowId }) => `fired ${workflowId}: ${runId}\n`).join(""),
      );
      session.note(
        next === null
          ? "no plan waits for its trigger"
          : `the next is due at ${isoTime(Date.parse(next))}`,
      );
      return exitCodeOf(session, errors);
    }),
});

/** Returns the functions that check the triggers of a home's plans. */
export function checksOf(
  session: Session,
  { Confirmations, scriptCommand }: typeof import("@uncaged/workflow-plan/service"),
  planHome: string,
): Pick<TickOptions, "commandOf" | "env" | "host"> {
  const { cwd, env, host } = session;
  return {
    ...{ env, host },
    async commandOf(workflow, script) {
      const { networkAllow: allow } = (await configOf(session)).sandbox;
      const userHome = await userHomeOf(session);
      const question = { planHome, userHome, root: rootOf(session), env, allow };
      const confirmed = new Confirmations({ home: planHome, env, cwd }, userHome).kept(workflow.id);
      return await scriptCommand(workflow, script, { ...question, confirmed });
    },
  };
}
