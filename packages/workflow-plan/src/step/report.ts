import { maskOf } from "@uncaged/workflow/interpreter";
import type { Environment } from "@uncaged/workflow/host";
import { removeRunFolder, runFolder } from "@uncaged/workflow/sandbox";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProjectAccess } from "../agent/agent.ts";
import type { CheckedMount } from "../mount/mount.ts";
import type { PlanMetadata, Workflow } from "../plan/plan.ts";
import { sandboxSettings } from "../sandbox/options.ts";
import { baseEnv, credentialsIn, secretsFor } from "../secret/secret.ts";
import { type AgentFile, agentFile, liesIn } from "./agent-file.ts";
import { launchIn } from "./launch.ts";
import { probeAgent, type ProbedAgent } from "./probe-agent.ts";
import { checkPrefix } from "./check-folder.ts";
import { checkKind, type Confirmed } from "./confirmed.ts";
import { testFromInside } from "./self-test.ts";
import { type CheckedSandbox, checkedSandbox } from "./view.ts";
import { modelUnreachable } from "./errors.ts";

/** The place where a plan would run: its plan home, the storage root, and the environment. */
export type SandboxQuestion = {
  planHome: string;
  /** The user's own plan home, whose mount allowlist applies (default: the plan home). */
  userHome?: string;
  root: string;
  env: Environment;
  /** Whether the steps' agent calls a model over the network (default: true). */
  agentNeedsNetwork?: boolean;
  /** The command of the steps' agent, to run once inside the sandbox. If missing, no agent is run. */
  agentCommand?: string;
  /** The loopback and private addresses that steps may reach, each as `host:port`. */
  allow?: readonly string[];
};

/** The future sandbox of a plan's steps, for the person who confirms the plan. `text` contains all `facts`. */
export type SandboxReport = {
  mode: "off" | "bubblewrap" | "container";
  project: ProjectAccess;
  network: boolean;
  limits: string[];
  mounts: CheckedMount[];
  /** The reachable addresses in addition to public addresses, each as `host:port`. */
  allow: readonly string[];
  /** The steps' agent. `path` and `sha256` are null if the agent is not found, or belongs to a container's image. */
  agent: { command: string; path: string | null; sha256: string | null } | null;
  /** The agent's visible files and its warning; null when the agent was not run. */
  probe: ProbedAgent | null;
  /** The facts as a list, the mode first. */
  facts: string[];
  text: string;
};

type Planned = Pick<Workflow, "metadata">;

/**
 * Finds the sandbox in which the steps of a plan will run, for the plan's confirmation. Starts the sandbox, tests it from
 * inside, and runs the agent in it once.
 * @throws ConfigError for a refused mount, a missing or leaky sandbox, an agent that cannot run or lacks its network
 */
export async function checkSandbox(
  workflow: Planned,
  question: SandboxQuestion,
): Promise<SandboxReport> {
  const { agentNeedsNetwork = true } = question;
  const { network } = sandboxSettings(workflow.metadata?.sandbox);
  if (network === "none" && agentNeedsNetwork) {
    throw modelUnreachable();
  }
  const found = await checked(workflow, question);
  const { mounts, network: policy, project, sandbox, settings } = found;
  const report = {
    mode: sandbox.kind,
    project: project.access,
    network: sandbox.kind === "off" || settings.network === "on",
    ...{ limits: sandbox.limits, mounts, allow: policy?.allow ?? [] },
    probe: await testedInside(found, question),
  } as const;
  const { agentCommand: command, env } = question;
  const isOurs = command !== undefined && sandbox.kind !== "container";
  const file = isOurs ? await agentFile(command, env) : null;
  const { path = null, sha256 = null } = file ?? {};
  const agent = command === undefined ? null : { command, path, sha256 };
  const facts = factsOf(report, sandbox.problem);
  if (command !== undefined && sandbox.kind === "container")
    facts.push(`agent ${command} of the image`);
  else if (command !== undefined) facts.push(agentText(command, file, project.path));
  return { ...report, agent, facts, text: facts.join("; ") };
}

/** Time in milliseconds for which a test of the same sandbox stays valid. */
const testedMs = 60_000;
const tested = new Map<string, Promise<ProbedAgent | null>>();

/**
 * Tests a sandbox from inside and runs the agent in it once.
 * @throws ConfigError
 */
function testedInside(
  found: CheckedSandbox,
  { agentCommand, env }: Pick<SandboxQuestion, "agentCommand" | "env">,
): Promise<ProbedAgent | null> {
  if (found.sandbox.kind === "off") return Promise.resolve(null);
  const key = JSON.stringify([found, agentCommand, env.PATH, env.HOME]);
  const before = tested.get(key);
  if (before) return before;
  const answer = testFromInside(found, { env }).then(() =>
    agentCommand === undefined ? null : probeAgent(found, { command: agentCommand, env }),
  );
  tested.set(key, answer);
  answer.catch(() => tested.delete(key));
  setTimeout(() => tested.delete(key), testedMs).unref();
  return answer;
}

/**
 * Tests the sandbox that a home's settings select for plans, with an empty folder as the project.
 * @returns the confirmed facts, in words
 * @throws ConfigError that names the openings
 */
export async function testSandbox(
  metadata: Pick<PlanMetadata, "sandbox">,
  question: SandboxQuestion,
): Promise<string> {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-sandbox-")));
  try {
    return (await checkSandbox({ metadata: { ...metadata, cwd } }, question)).text;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function agentText(command: string, file: AgentFile | null, project: string): string {
  if (file === null) return `agent ${command}, which is not found on PATH`;
  const where = liesIn(file, [project]) ? ", which is in the project" : "";
  return `agent ${file.path} (SHA-256 ${file.sha256.slice(0, shownDigits)})${where}`;
}

const shownDigits = 16;

const checked = (
  { metadata = {} }: Planned,
  { allow, env, planHome, root, userHome }: SandboxQuestion,
): Promise<CheckedSandbox> =>
  checkedSandbox({
    metadata,
    cwd: metadata.cwd ?? process.cwd(),
    env,
    planHome,
    root,
    allow,
    userHome,
  });

function factsOf(
  report: Omit<SandboxReport, "agent" | "facts" | "text">,
  problem: string | null,
): string[] {
  const { allow, limits, mode, mounts, network, probe, project } = report;
  if (mode === "off") {
    const why = problem === null ? "" : ` (${problem})`;
    const unused = mounts.length === 0 ? [] : ["the mounts are not used"];
    return [`none${why}: the steps have your rights`, ...unused];
  }
  const shown = mounts.map(
    ({ containerPath, hostPath, readonly }) =>
      `${hostPath} at ${containerPath}${readonly ? "" : ", writable"}`,
  );
  return [
    mode,
    `the project ${project === "read-only" ? "can be read, not written" : "can be written"}`,
    network ? networkText(allow) : "without network",
    ...limits,
    ...shown,
    ...(probe === null || probe.visible.length === 0
      ? []
      : [`the agent's files can be read: ${probe.visible.join(", ")}`]),
    ...(probe?.warning ? [probe.warning] : []),
  ];
}

const networkText = (allow: readonly string[]): string =>
  ["public addresses can be reached", ...allow].join(", and ");

/** The command of a check script. `end` is called after the script. */
export type ScriptCommand = {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  descriptors: readonly number[];
  mask: (text: string) => string;
  /** Watches the limits of the started process. */
  onStarted?: (pid: number) => void;
  /** Aborted when the process exceeds a limit, with an error that names the limit. */
  exceeded?: AbortSignal;
  end: () => Promise<void>;
};

/**
 * Returns the command that runs a check script like a step: with the secrets that the script names, in the plan's
 * sandbox.
 * @throws ConfigError, ExecutorError
 */
export async function scriptCommand(
  workflow: Planned & Pick<Workflow, "id">,
  script: string,
  question: SandboxQuestion & { confirmed?: Confirmed | null },
): Promise<ScriptCommand> {
  const { confirmed, env, planHome } = question;
  const found = await checked(workflow, question);
  if (confirmed) checkKind(confirmed, found.sandbox);
  const secrets = credentialsIn(planHome, env);
  const variables = { ...baseEnv(env), ...secretsFor([script], secrets) };
  const run = runFolder(env, `${checkPrefix(planHome)}${crypto.randomUUID()}`);
  const launch = await launchIn(found, {
    ...{ command: "sh", env: variables, run, step: "check", ipc: null, programs: [] },
  });
  return {
    argv: [...(launch?.argv ?? ["sh"]), "-c", script],
    env: launch?.env ?? variables,
    cwd: found.project.path,
    descriptors: launch?.descriptors() ?? [],
    mask: maskOf({}, [], secrets),
    ...(launch && { onStarted: launch.onStarted, exceeded: launch.exceeded }),
    async end() {
      await launch?.end();
      removeRunFolder(run);
    },
  };
}
