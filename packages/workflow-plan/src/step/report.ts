import { maskOf } from "@uncaged/workflow";
import type { Environment } from "@uncaged/workflow/host";
import type { ProjectAccess } from "../agent/agent.ts";
import { ConfigError } from "../error/error.ts";
import type { CheckedMount } from "../mount/mount.ts";
import type { Workflow } from "../plan/plan.ts";
import { sandboxSettings } from "../sandbox/options.ts";
import { baseEnv, credentialsIn, secretsFor } from "../secret/secret.ts";
import { LimitWatch } from "./limit-watch.ts";
import { checkPrefix, type Launch, launchIn, removeRunFolder, runFolder } from "./launch.ts";
import { type CheckedSandbox, checkedSandbox } from "./view.ts";

/** Who asks what a plan's steps run in: its plan home, the storage root, and its environment. */
export type SandboxQuestion = {
  planHome: string;
  root: string;
  env: Environment;
  /** Whether the steps' agent calls a model over the network; it does when not given. */
  agentNeedsNetwork?: boolean;
};

/** What the steps of a plan will run in. `text` is for whoever confirms the plan. */
export type SandboxReport = {
  mode: "off" | "bubblewrap" | "container";
  project: ProjectAccess;
  network: boolean;
  limits: string[];
  mounts: CheckedMount[];
  text: string;
};

type Planned = Pick<Workflow, "metadata">;

/**
 * What the steps of a plan will run in, for its confirmation.
 * @throws ConfigError for a mount that is refused, a sandbox that is not there, an agent without its network.
 */
export async function checkSandbox(
  workflow: Planned,
  question: SandboxQuestion,
): Promise<SandboxReport> {
  const { agentNeedsNetwork = true } = question;
  const { network } = sandboxSettings(workflow.metadata?.sandbox);
  if (network === "none" && agentNeedsNetwork) {
    throw new ConfigError(
      "sandbox.network is none, and the steps' agent calls its model over the network",
      {
        hint: "set sandbox.network to on; or agent.network to false, for an agent that needs none",
      },
    );
  }
  const { mounts, project, sandbox, settings } = await checked(workflow, question);
  const report = {
    mode: sandbox.kind,
    project: project.access,
    network: sandbox.kind === "off" || settings.network === "on",
    ...{ limits: sandbox.limits, mounts },
  } as const;
  return { ...report, text: textOf(report) };
}

const checked = (
  { metadata = {} }: Planned,
  { env, planHome, root }: SandboxQuestion,
): Promise<CheckedSandbox> =>
  checkedSandbox({ metadata, cwd: metadata.cwd ?? process.cwd(), env, planHome, root });

function textOf({ limits, mode, mounts, network, project }: Omit<SandboxReport, "text">): string {
  if (mode === "off") {
    const unused = mounts.length === 0 ? "" : "; the mounts are not used";
    return `none: the steps may do what you may do${unused}`;
  }
  const shown = mounts.map(
    ({ containerPath, hostPath, readonly }) =>
      `${hostPath} at ${containerPath}${readonly ? "" : ", writable"}`,
  );
  return [
    mode,
    `the project ${project === "read-only" ? "can be read, not written" : "can be written"}`,
    network ? "with network" : "without network",
    ...limits,
    ...shown,
  ].join("; ");
}

/** A check script as it is to be started; `end` when it has ended. */
export type ScriptCommand = {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  mask: (text: string) => string;
  /** To be called with its process id; and what is aborted with the reason when it exceeds a limit. */
  onStarted: (pid: number) => void;
  exceeded?: AbortSignal;
  end: () => void;
};

/**
 * The command that runs a check script as a step runs: with the secrets that it names, in the plan's sandbox.
 * @throws ConfigError
 */
export async function scriptCommand(
  workflow: Planned & Pick<Workflow, "id">,
  script: string,
  question: SandboxQuestion,
): Promise<ScriptCommand> {
  const { env, planHome } = question;
  const found = await checked(workflow, question);
  const secrets = credentialsIn(planHome, env);
  const variables = { ...baseEnv(env), ...secretsFor([script], secrets) };
  const run = runFolder(env, `${checkPrefix(planHome)}${crypto.randomUUID()}`);
  const launch: Launch | null = launchIn(found, {
    ...{ command: "sh", env: variables, run, step: "check", ipc: null, programs: [] },
  });
  const watch = launch && new LimitWatch(launch.watched, "the check");
  return {
    argv: [...(launch?.argv ?? ["sh"]), "-c", script],
    env: launch?.env ?? variables,
    cwd: found.project.path,
    mask: maskOf({}, [], secrets),
    onStarted: (pid) => watch?.start(pid),
    ...(watch && { exceeded: watch.exceeded }),
    end() {
      watch?.stop();
      launch?.end();
      removeRunFolder(run);
    },
  };
}
