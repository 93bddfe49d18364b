import { maskOf } from "@uncaged/workflow/interpreter";
import type { ThreadContext, WorkflowOptions } from "@uncaged/workflow";
import { publish } from "@uncaged/workflow-agents/interpreter";
import { withRun } from "@uncaged/workflow-agents";
import type { Environment } from "@uncaged/workflow/host";
import { removeRunFolder, runFolder } from "@uncaged/workflow/sandbox";
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type AgentProcess,
  openEnvironment,
  type StepEnvironment,
  type StepSurroundings,
} from "../agent/agent.ts";
import { StepFolder } from "../ipc/folder.ts";
import { secretsVariable, type StepMessage } from "../ipc/message.ts";
import type { PlanDefinition } from "../plan/definition.ts";
import type { PlanMetadata, PlanStep } from "../plan/plan.ts";
import { runIdOf } from "../plan/terms.ts";
import { baseEnv, credentialsIn, type Secrets, secretsFor } from "../secret/secret.ts";
import { sandboxSettings } from "../sandbox/options.ts";
import { agentFile, liesIn } from "./agent-file.ts";
import { checkFiles, checkKind, type Confirmed, readConfirmed } from "./confirmed.ts";
import { type Launch, launchIn } from "./launch.ts";
import { type CheckedSandbox, checkedSandbox } from "./view.ts";
import { type OwnProgram, workerSite } from "./worker-site.ts";
import {
  agentChanged,
  agentNotCommand,
  commandMissing,
  confirmationGone,
  gitFilesWritten,
  noWorkflowId,
  programGone,
  stepClosed,
} from "./errors.ts";

/** The thread's options for the steps of a run. */
type RunOptions = {
  planHome: string | null;
  userHome?: string;
  workflowId: string;
  root: string | null;
  program: OwnProgram | null;
  /** The loopback and private addresses that steps may reach, each as `host:port`. */
  allow: string[];
  /** The file of the plan's confirmation; null for a run that does not need one. */
  confirmed: string | null;
};

const toolServer = "cueclaw";

/**
 * Makes the environment of each attempt at a step: the secrets that the step names, the plan's sandbox, and the folder
 * for its tools' calls to the run.
 */
export class StepEnvironments {
  readonly #thread: ThreadContext;
  readonly #plan: PlanDefinition;
  readonly #metadata: PlanMetadata;
  readonly #options: RunOptions;
  /** The agent's command; null for an agent that is a function of this process. */
  readonly #command: string | null;

  constructor(
    thread: ThreadContext,
    plan: PlanDefinition,
    { command, options }: { command: string | null; options: WorkflowOptions },
  ) {
    this.#thread = thread;
    this.#plan = plan;
    this.#metadata = plan.metadata ?? {};
    this.#options = optionsIn(options, thread.env ?? {});
    this.#command = command;
  }

  /** Returns the environment of one attempt at a step. @throws ConfigError */
  async of(step: PlanStep): Promise<StepEnvironment> {
    const { env = {} } = this.#thread;
    const { allow, planHome, root, userHome } = this.#options;
    const all = planHome === null ? {} : credentialsIn(planHome, env);
    const hide = hider(all);
    const site = {
      metadata: this.#metadata,
      cwd: this.#thread.cwd ?? "",
      ...{ allow, env, planHome, root, userHome },
    };
    if (this.#command === null) return { ...withoutProcess(this.#metadata), hide };
    const confirmed = this.#confirmed(site.cwd);
    const checked = await checkedSandbox(site);
    if (confirmed) checkKind(confirmed, checked.sandbox);
    const agent = confirmed && (await checkedAgent(this.#command, env, { checked, confirmed }));
    checkProgram(this.#options.program);
    if (planHome === null && checked.sandbox.kind === "off") return openEnvironment;
    // Pass only secrets that were shown at the plan's confirmation: data and subtasks can't request more.
    const shown = secretsFor(this.#plan.steps.flatMap(textsOf), all);
    const own = secretsFor(textsOf(step), shown);
    const folder = planHome === null ? null : this.#folderOf(planHome, step.id);
    const variables = { ...baseEnv(env), ...own, [secretsVariable]: Object.keys(own).join(",") };
    const request = {
      ...{ command: this.#command, env: variables, run: this.#runFolder, step: step.id },
      ...{ ipc: folder, programs: this.#options.program?.folders ?? [] },
    };
    // Each start makes the folders again, so earlier open descriptors would refer to other folders.
    const start = async (): Promise<Started> => {
      const launch = await launchIn(checked, request);
      const process = {
        env: launch?.env ?? variables,
        ...(launch && { launch }),
        ...this.#tools(launch?.ipc ?? folder),
        secrets: all,
      };
      return { launch, process };
    };
    return {
      sandbox: { ...sandboxRecord(checked), ...(agent && { agent }) },
      hide,
      during: (around, work) => during(folder, { start, hide, around, stepId: step.id }, work),
    };
  }

  /**
   * Returns the valid confirmation, or null for a run that does not need a confirmation.
   * @throws ExecutorError, ConfigError
   */
  #confirmed(cwd: string): Confirmed | null {
    const { confirmed: path, workflowId } = this.#options;
    if (path === null) return null;
    const confirmed = readConfirmed(path);
    if (confirmed === null) throw confirmationGone(workflowId, path);
    checkFiles(confirmed, cwd);
    return confirmed;
  }

  /** Removes the shared files of the steps at the end of the run. */
  end(): void {
    if (this.#command !== null) removeRunFolder(this.#runFolder);
  }

  get #runFolder(): string {
    return runFolder(this.#thread.env ?? {}, this.#thread.threadId);
  }

  #folderOf(planHome: string, stepId: string): string {
    return join(planHome, "ipc", this.#options.workflowId, runIdOf(this.#thread.threadId), stepId);
  }

  /** Returns the arguments that give Claude Code the step's tools, and make it ask before using built-in tools. */
  #tools(ipc: string | null): { args: string[]; tools: string[] } {
    const { program } = this.#options;
    if (program === null || ipc === null) return { args: [], tools: [] };
    const [command = "", ...rest] = program.argv;
    const args = [...rest, "plan", "__mcp", "--folder", ipc];
    const servers = { mcpServers: { [toolServer]: { type: "stdio", command, args } } };
    const guard = [...program.argv, "plan", "__guard"].map(quoted).join(" ");
    const hook = { type: "command", command: `${guard} || exit 2` };
    const settings = {
      disableAllHooks: false,
      hooks: { PreToolUse: [{ matcher: "Bash|Write|Edit", hooks: [hook] }] },
    };
    return {
      args: ["--mcp-config", JSON.stringify(servers), "--settings", JSON.stringify(settings)],
      tools: [`mcp__${toolServer}`],
    };
  }
}

/**
 * Returns the agent that a step starts, for its record; null for the agent of a container's image. A program that a
 * step could have written must be the confirmed file. Any other program may have been updated.
 * @throws ConfigError, ExecutorError
 */
async function checkedAgent(
  command: string,
  env: Environment,
  { checked, confirmed }: { checked: CheckedSandbox; confirmed: Confirmed },
): Promise<{ path: string; sha256: string } | null> {
  const { sandbox, writable } = checked;
  if (sandbox.kind === "container") return null;
  const agent = await agentFile(command, env);
  if (agent === null) throw commandMissing(command);
  const { path, sha256 } = agent;
  if (liesIn(agent, writable) && sha256 !== confirmed.agent?.sha256)
    throw agentChanged(confirmed.workflowId, path);
  return { path, sha256 };
}

/**
 * Returns the environment without a process.
 * @throws ConfigError if the plan needs a sandbox, because a function of this process does not run in one.
 */
function withoutProcess({ sandbox }: PlanMetadata): StepEnvironment {
  const { mode, required } = sandboxSettings(sandbox);
  if (!required && (mode === "auto" || mode === "off")) return openEnvironment;
  throw agentNotCommand();
}

/** Returns a step's texts, without the values of references in its inputs. */
const textsOf = ({ description, inputs }: PlanStep): string[] => [
  description,
  JSON.stringify(inputs),
];

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function hider(secrets: Secrets): <T>(value: T) => T {
  const mask = maskOf({}, [], secrets);
  return <T>(value: T) => mask.value(value) as T;
}

function sandboxRecord({ project, sandbox, settings }: CheckedSandbox): StepEnvironment["sandbox"] {
  const { kind, limits } = sandbox;
  if (kind === "off") return { sandbox: "off" };
  return { sandbox: kind, limits, network: settings.network === "on", project: project.access };
}

type Started = { launch: Launch | null; process: AgentProcess };

type During = {
  start: () => Promise<Started>;
  hide: <T>(value: T) => T;
  around: StepSurroundings;
  stepId: string;
};

async function during<T>(
  path: string | null,
  { around, hide, start, stepId }: During,
  work: (signal: AbortSignal | undefined, process: AgentProcess) => Promise<T>,
): Promise<T> {
  const { signal } = around.thread;
  const closed = new AbortController();
  const folder =
    path === null
      ? null
      : StepFolder.open(path, {
          answer: (message) => answered(message, { around, hide, stepId }),
          onClose: () => closed.abort(stepClosed(path)),
          hide,
        });
  let launch: Launch | null = null;
  let planted: string[] = [];
  let answer: T;
  try {
    const started = await start();
    launch = started.launch;
    const signals = [signal, closed.signal, launch?.exceeded].filter((one) => one !== undefined);
    answer = await work(AbortSignal.any(signals), started.process);
  } finally {
    planted = (await launch?.end()) ?? [];
    await folder?.close();
  }
  if (planted.length === 0) return answer;
  throw gitFilesWritten(planted);
}

/** Runs a tool call. The folder of the message identifies the run and the step. */
async function answered(
  message: StepMessage,
  { around, hide, stepId }: Pick<During, "around" | "hide" | "stepId">,
): Promise<unknown> {
  switch (message.type) {
    case "progress": {
      const payload = {
        name: toolServer,
        level: "info",
        message: hide(message.message),
        data: null,
      };
      withRun({ stepID: stepId, spent: [], memory: {} }, () => publish("tool_message", payload));
      return "reported";
    }
    case "notify":
      await around.notify(message.message);
      return "sent";
    case "context":
      return around.outputs();
    case "subtask": {
      const { depends_on, id } = await around.createSubtask(message.subtask);
      return { id, depends_on };
    }
  }
}

const idForm = /^[\w-]{1,100}$/;

/** Reads the options of a run from the options of its thread. @throws ConfigError */
function optionsIn(options: WorkflowOptions, env: Environment): RunOptions {
  const site = options.planOfWorker === true ? workerSite(env) : options;
  const { planHome, planProgram, planRoot } = site;
  const { planConfirmed, planUserHome, sandboxAllow, workflowId } = options;
  const allow = isTexts(sandboxAllow) ? sandboxAllow : [];
  const none = {
    planHome: null,
    workflowId: "",
    root: null,
    program: null,
    confirmed: null,
    allow,
  };
  if (typeof planHome !== "string" || planHome === "") return none;
  if (typeof workflowId !== "string" || !idForm.test(workflowId)) {
    throw noWorkflowId();
  }
  const root = typeof planRoot === "string" ? planRoot : null;
  const confirmed = typeof planConfirmed === "string" ? planConfirmed : null;
  const userHome = typeof planUserHome === "string" ? planUserHome : undefined;
  return {
    planHome,
    workflowId,
    root,
    program: programIn(planProgram),
    confirmed,
    allow,
    userHome,
  };
}

/**
 * Checks that the command line, which checks the step's commands, is still in the folders of the run's start.
 * @throws ConfigError
 */
function checkProgram(program: OwnProgram | null): void {
  const gone = program?.folders.find((path) => !existsSync(path));
  if (gone !== undefined) throw programGone(gone);
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

function programIn(value: unknown): OwnProgram | null {
  if (typeof value !== "object" || value === null) return null;
  const { argv, folders } = value as Partial<OwnProgram>;
  return isTexts(argv) && argv.length > 0 && isTexts(folders) ? { argv, folders } : null;
}
