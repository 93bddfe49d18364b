import type { Workflow } from "@uncaged/workflow-plan";
import { threadEnv } from "@uncaged/workflow/internal";
import type { Messaging, MessagingOptions, Plans } from "@uncaged/workflow-plan/service";
import { defineSubcommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { checksOf } from "./tick.ts";
import {
  type AgentOptions,
  agentOption,
  configOf,
  plannersOf,
  sandboxFacts,
  withPlans,
} from "./home.ts";

export const chat = defineSubcommand({
  summary: "make, confirm and manage plans in a conversation",
  declare: agentOption,
  examples: [
    "uncaged-workflow plan chat",
    "printf '%s\\n' 'watch my builds' | uncaged-workflow plan chat",
  ],
  run: (session, options: AgentOptions) =>
    withPlans(session, { ...options, creates: true }, async (plans, service) => {
      const { openTriggerLoop, runTerminalChat, serviceStatus } = service;
      const config = await configOf(session);
      const env = await threadEnv(session.cwd, session.env);
      const isExternal = serviceStatus(plans.home, null).running !== null;
      await runTerminalChat({
        ...{ plans, config, cwd: session.cwd, input: process.stdin, output: process.stdout },
        bridge: isExternal
          ? { triggerLoop: null, router: null, botChannels: [], isExternal }
          : null,
        hasModel: (env.ANTHROPIC_API_KEY ?? env.ANTHROPIC_AUTH_TOKEN ?? "") !== "",
        colours: session.look.paint("bold", "x") !== "x",
        openTriggers(onError) {
          const checks = checksOf(session, service, plans.home);
          return openTriggerLoop(plans, { ...checks, onError: (_id, error) => onError(error) });
        },
        open: (terminal) => messagingOf(session, plans, { terminal }),
      });
    }),
});

/**
 * Returns the channels of a command: its terminal, or the bots of the settings.
 * @throws ConfigError
 */
export async function messagingOf(
  session: Session,
  plans: Plans,
  more: Pick<MessagingOptions, "terminal"> & { hasBots?: boolean },
): Promise<Messaging> {
  const { intentClassifier, openMessaging, previewText } = await import(
    "@uncaged/workflow-plan/service"
  );
  const { cwd, host } = session;
  const { hasBots = false, terminal } = more;
  const config = await configOf(session);
  const env = await threadEnv(cwd, session.env);
  const describe = async (workflow: Workflow): Promise<string> => {
    const sandbox = await sandboxFacts(session, plans, workflow);
    return previewText(workflow, plans.preview(workflow, sandbox));
  };
  return await openMessaging({
    ...{ plans, host, describe, config, skipBots: !hasBots, terminal },
    planner: await plannersOf(session, plans),
    classify: intentClassifier({ env }),
    log: (line) => session.note(line),
  });
}
