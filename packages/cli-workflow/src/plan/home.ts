import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import type { ChannelContext, Planner, PlanMetadata, Workflow } from "@uncaged/workflow-plan";
import type {
  ConfigSources,
  CueclawConfig,
  Plans,
  PlansOptions,
  SandboxReport,
  SharedRows,
} from "@uncaged/workflow-plan/service";
import type { OpenPlans } from "@uncaged/workflow-server";
import { findProject, isWorkflowError, toErrorRecord } from "@uncaged/workflow/host";
import { rootVariable, threadEnv } from "@uncaged/workflow/internal";
import type { Command } from "commander";
import { exitCodes } from "../output/exit-code.ts";
import { isDatabaseUrl } from "../session/cluster.ts";
import { errorText } from "../session/failure.ts";
import { ownProgram } from "../session/own-command.ts";
import type { Session } from "../session/session.ts";

type Service = typeof import("@uncaged/workflow-plan/service");

/** The reason why plan commands refuse a server. */
export const plansElsewhere = "change plans in the server's console, or on the server's machine";

/** Adds `--agent` to a command that starts runs. */
export const agentOption = (command: Command): Command =>
  command.option(
    "--agent <command>",
    "program that executes the steps (default: from the settings)",
  );

export type AgentOptions = { agent?: string };

/** Options of a command that opens plans. With `creates`, a missing plan home is created. */
export type OpenOptions = AgentOptions & { creates?: boolean };

/** Returns the storage root that contains the plan home. The root is on this machine, even for plans on a cluster. */
export const rootOf = (session: Session): string =>
  (session.clusterChosen ? session.openRoot() : session.host).root;

/** Returns the plan home of a command: the folder of this machine's plan data. */
export async function homeOf(session: Session): Promise<string> {
  const { planHome } = await import("@uncaged/workflow-plan/service");
  return planHome(rootOf(session), session.env);
}

/**
 * Returns the plan home with the user's settings. An environment variable names the folder or its storage root; the
 * default is in the home directory. Ignores a project's storage root, because steps may have written there.
 */
export async function userHomeOf(session: Session): Promise<string> {
  const { planHome, homeVariable } = await import("@uncaged/workflow-plan/service");
  const { env } = session;
  const root = env[rootVariable];
  const isNamed = Boolean(env[homeVariable]) || (root && !(await isProjects(session, root)));
  const own = join(env.HOME || homedir(), ".uncaged/workflow");
  return planHome(isNamed && root ? resolve(root) : own, env);
}

/** Tells whether a project names a storage root, or a project's folder contains it. */
async function isProjects(session: Session, root: string): Promise<boolean> {
  const { env } = session;
  const path = realOf(root);
  const found = await Promise.allSettled([
    findProject(dirname(path), env),
    findProject(session.cwd, env),
  ]);
  return found.some((one, at) => {
    // A root in an unreadable project counts as a project's root.
    if (one.status === "rejected") return at === 0;
    const { folder, root: named } = one.value ?? {};
    if (named !== undefined && realOf(named) === path) return true;
    return at === 0 && folder !== undefined && folder !== env.HOME;
  });
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Returns the sources of a command's settings. */
export async function configSources(session: Session): Promise<ConfigSources> {
  const { readSecrets } = await import("@uncaged/workflow-plan/service");
  const { env } = session;
  const [home, userHome] = await Promise.all([homeOf(session), userHomeOf(session)]);
  const project = session.hostProject?.folder ?? null;
  const isOwn = realOf(home) === realOf(userHome);
  const secrets = { ...readSecrets(home), ...readSecrets(userHome) };
  return { home, userHome: isOwn ? home : userHome, project, env, secrets };
}

/**
 * Returns the settings of a command.
 * @throws ConfigError
 */
export async function configOf(session: Session): Promise<CueclawConfig> {
  const { readConfig } = await import("@uncaged/workflow-plan/service");
  return readConfig(await configSources(session));
}

/**
 * Opens the plans of a command. `agent` is the agent command of new runs.
 * @throws ConfigError, ExecutorError
 */
export async function openPlansOf(
  session: Session,
  { agent, creates = true }: OpenOptions = {},
): Promise<Plans> {
  const { checkSandbox, openPlans, openSharedPlans } = await import(
    "@uncaged/workflow-plan/service"
  );
  session.refuseServer(plansElsewhere);
  const { cwd, env, host } = session;
  const home = await homeOf(session);
  const [config, userHome] = await Promise.all([configOf(session), userHomeOf(session)]);
  const { agent: own, answer_timeout_ms, max_parallel_steps, max_runs, sandbox } = config;
  const agentCommand = commandOf(session, agent ?? own.command);
  const options: PlansOptions = {
    ...{ host, env, cwd, home, maxRuns: max_runs, userHome },
    runOptions: {
      ...{ agentCommand, agentModel: own.model, agentTools: own.tools },
      ...{ maxParallelSteps: max_parallel_steps, sandboxAllow: sandbox.networkAllow },
      ...(answer_timeout_ms !== undefined && { answerMs: answer_timeout_ms }),
    },
  };
  const rows = await sharedRows(session);
  // The workers of a cluster have their own sandboxes, home and command line.
  if (rows) return await openSharedPlans(options, rows, { creates });
  const { root } = host;
  const local: PlansOptions = {
    ...options,
    check: (workflow) =>
      checkSandbox(workflow, {
        ...{ planHome: home, userHome, root, env, agentNeedsNetwork: own.network },
        ...{ agentCommand, allow: sandbox.networkAllow },
      }),
    runOptions: {
      ...options.runOptions,
      planRoot: root,
      planUserHome: userHome,
      planProgram: ownProgram(),
    },
  };
  return openPlans(local, { creates });
}

/** Returns a command line with a relative path of a program resolved against the current folder. */
const commandOf = ({ cwd }: Session, command: string): string =>
  command.includes(sep) ? resolve(cwd, command) : command;

/** Returns the rows of the plans on the command's cluster or database; null on a storage root. */
async function sharedRows({
  clusterChosen,
  clusterFolder,
  env,
}: Session): Promise<SharedRows | null> {
  if (clusterChosen === null) return null;
  const { url } = clusterChosen;
  if (isDatabaseUrl(url)) {
    const postgres = await import("@uncaged/workflow-postgres");
    return await postgres.openPlanRows(postgres.readDatabaseUrl(url));
  }
  const [{ openPlanRows }, { reachCluster }] = await Promise.all([
    import("@uncaged/workflow-restate"),
    import("@uncaged/workflow-restate/cluster"),
  ]);
  return openPlanRows(reachCluster(url, env, clusterFolder).address);
}

/** Applies an action to the plans of a command, then closes them. */
export async function withPlans<Result>(
  session: Session,
  options: OpenOptions,
  act: (plans: Plans, service: Service) => Promise<Result>,
): Promise<Result> {
  const plans = await openPlansOf(session, { creates: false, ...options });
  try {
    return await act(plans, await import("@uncaged/workflow-plan/service"));
  } finally {
    plans.close();
  }
}

/**
 * Returns the exit code of a command that acts on several plans. Writes each plan's error to stderr, even if stdout has
 * a document.
 */
export function exitCodeOf(session: Session, errors: readonly unknown[]): number {
  for (const error of errors) session.output.notes.write(errorText(toErrorRecord(error)));
  return errors.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** Returns the planner of a command. */
export const plannerOf = async (session: Session, plans: Plans): Promise<Planner> =>
  (await plannersOf(session, plans))();

/** Returns a function that creates a chat's planner. */
export async function plannersOf(
  session: Session,
  plans: Plans,
): Promise<(context?: ChannelContext) => Planner> {
  const [{ Planner }, { offeredNames }] = await Promise.all([
    import("@uncaged/workflow-plan"),
    import("@uncaged/workflow-plan/service"),
  ]);
  const config = await configOf(session);
  const { cwd } = session;
  const env = await threadEnv(cwd, session.env);
  return (context) =>
    new Planner({
      ...{ env, context, model: config.planner.model },
      ...{ metadata: { cwd, ...surroundings(config) }, secrets: plans.secrets },
      ...{ credentials: offeredNames(env), folder: plans.folder },
    });
}

/** Returns the settings for the steps of new plans that differ from the defaults. */
export function surroundings({ container, sandbox }: CueclawConfig): PlanMetadata {
  const { engine, image, timeout } = container;
  const { mode, network, required } = sandbox;
  const chosen = {
    ...(mode !== "auto" && { mode }),
    ...(required && { required }),
    ...(network === "none" && { network }),
    ...(engine !== undefined && { engine }),
    ...(image !== undefined && { image }),
  };
  return {
    ...(Object.keys(chosen).length > 0 && { sandbox: chosen }),
    ...(timeout !== defaultTimeoutMs && { container: { timeout } }),
  };
}

const defaultTimeoutMs = 1_800_000;

/**
 * Returns the sandbox in which the steps of a plan would run.
 * @throws ConfigError
 */
export async function sandboxOf(
  session: Session,
  { agentCommand, home: planHome }: Plans,
  workflow: Workflow,
): Promise<Pick<SandboxReport, "facts">> {
  if (session.clusterChosen) return { facts: ["the sandbox of the worker that runs the step"] };
  const { checkSandbox } = await import("@uncaged/workflow-plan/service");
  const { env, host } = session;
  const { agent, sandbox } = await configOf(session);
  return checkSandbox(workflow, {
    ...{ planHome, userHome: await userHomeOf(session) },
    ...{ root: host.root, env, agentNeedsNetwork: agent.network },
    ...{ agentCommand, allow: sandbox.networkAllow },
  });
}

/** Returns the sandbox in which the steps of a plan would run, or the reason why they can't run. */
export async function sandboxFacts(
  session: Session,
  plans: Plans,
  workflow: Workflow,
): Promise<string[]> {
  try {
    return (await sandboxOf(session, plans, workflow)).facts;
  } catch (error) {
    if (isWorkflowError(error)) return [error.message, ...(error.hint ? [error.hint] : [])];
    throw error;
  }
}

/** Returns a function that opens the plans of a command for the server. It reports each damaged plan once. */
export function planAccess(session: Session): OpenPlans {
  const named = new Set<string>();
  const onDamaged = (_id: string, error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    if (!named.has(reason)) session.note(reason);
    named.add(reason);
  };
  return async (options) => {
    const { isFiring, Planning } = await import("@uncaged/workflow-plan/service");
    const plans = await openPlansOf(session, options);
    const planning = new Planning(plans, await plannerOf(session, plans));
    return {
      ...{ plans, planning, onDamaged, sandbox: (of) => sandboxOf(session, plans, of) },
      isFiring: () => (session.clusterChosen ? null : isFiring(plans.home)),
    };
  };
}
