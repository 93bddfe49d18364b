import { maskOf } from "@uncaged/workflow";
import type { Environment } from "@uncaged/workflow/host";
import type { ProjectAccess } from "../agent/agent.ts";
import { ConfigError } from "../error/error.ts";
import type { CheckedMount } from "../mount/mount.ts";
import type { Workflow } from "../plan/plan.ts";
import { sandboxSettings } from "../sandbox/options.ts";
import { baseEnv, credentialsIn, secretsFor } from "../secret/secret.ts";
import { checkPrefix, type Launch, launchIn, removeRunFolder, runFolder } from "./launch.ts";
import { type AgentFile, agentFile, liesIn } from "./agent-file.ts";
import { type CheckedSandbox, checkedSandbox } from "./view.ts";

/** Who asks what a plan's steps run in: its plan home, the storage root, and its environment. */
export type SandboxQuestion = {
  planHome: string;
  root: string;
  env: Environment;
  /** Whether the steps' agent calls a model over the network; it does when not given. */
  agentNeedsNetwork?: boolean;
  /** The steps' agent, by its command; it is not looked for when not given. */
  agentCommand?: string;
  /** The loopback and private addresses that steps may reach, each as `host:port`. */
  allow?: readonly string[];
};

/** What the steps of a plan will run in. `text` is for whoever confirms the plan. */
export type SandboxReport = {
  mode: "off" | "bubblewrap" | "container";
  project: ProjectAccess;
  network: boolean;
  limits: string[];
  mounts: CheckedMount[];
  /** The steps' agent; without path and digest when it is not found, or is the one of a container's image. */
  agent: { command: string; path: string | null; sha256: string | null } | null;
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
  const { agentCommand: command, env } = question;
  const isOurs = command !== undefined && sandbox.kind !== "container";
  const file = isOurs ? await agentFile(command, env) : null;
  const { path = null, sha256 = null } = file ?? {};
  const agent = command === undefined ? null : { command, path, sha256 };
  const parts = [textOf(report)];
  if (command !== undefined && sandbox.kind === "container")
    parts.push(`agent ${command} of the image`);
  else if (command !== undefined) parts.push(agentText(command, file, project.path));
  return { ...report, agent, text: parts.join("; ") };
}

function agentText(command: string, file: AgentFile | null, project: string): string {
  if (file === null) return `agent ${command}, which is not found on PATH`;
  const where = liesIn(file, [project]) ? ", which lies in the project" : "";
  return `agent ${file.path} (SHA-256 ${file.sha256.slice(0, shownDigits)})${where}`;
}

const shownDigits = 16;

const checked = (
  { metadata = {} }: Planned,
  { env, planHome, root }: SandboxQuestion,
): Promise<CheckedSandbox> =>
  checkedSandbox({ metadata, cwd: metadata.cwd ?? process.cwd(), env, planHome, root });

function textOf({
  limits,
  mode,
  mounts,
  network,
  project,
}: Omit<SandboxReport, "text" | "agent">): string {
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
  return {
    argv: [...(launch?.argv ?? ["sh"]), "-c", script],
    env: launch?.env ?? variables,
    cwd: found.project.path,
    mask: maskOf({}, [], secrets),
    end() {
      launch?.end();
      removeRunFolder(run);
    },
  };
}
