import type { ThreadContext, Usage } from "@uncaged/workflow";
import type { PlanStep } from "../plan/plan.ts";

/** A request to the agent of a step. */
export type StepRequest = {
  stepId: string;
  attempt: number;
  prompt: string;
  /** The session of an earlier attempt at the same step, to resume; null for none. */
  resume: string | null;
  /** The id for a new session, if the agent accepts one. It identifies the session after a crash. */
  sessionId: string;
  /** The timeout in milliseconds. */
  timeoutMs: number;
};

/** A subtask as an agent requests it. Without `depends_on` it depends on the step that creates it. */
export type Subtask = {
  id?: string;
  description: string;
  inputs?: PlanStep["inputs"];
  depends_on?: string[];
};

/** The operations of a step's tools on its run. */
export type StepHost = {
  /** Adds a step to the run. Resolves when the step is committed. @throws ExecutorError when it is refused. */
  createSubtask: (subtask: Subtask) => Promise<PlanStep>;
  /** Sends a notice to the owner. Resolves when the notice is committed. */
  notify: (message: string) => Promise<void>;
  /** The outputs of the run's succeeded steps. */
  outputs: () => { step: string; output: string }[];
};

/** Settings for the process of a step's agent. */
export type AgentProcess = {
  /** The whole environment of the process. */
  env: Record<string, string>;
  /** Starts the process in place of the command's name, for example in a sandbox. */
  launch?: {
    argv: readonly string[];
    descriptors: () => readonly number[];
    /** Called with the process id after each start of the command. */
    onStarted: (pid: number) => void;
  };
  /** Additional arguments, and the tools that the agent may use without asking. */
  args: readonly string[];
  tools: readonly string[];
  secrets: Readonly<Record<string, string>>;
};

/** The environment of one attempt at a step. */
export type StepEnvironment = {
  /** The active sandbox, for the record of the attempt's start. */
  sandbox: {
    sandbox: SandboxKind;
    limits?: string[];
    network?: boolean;
    project?: ProjectAccess;
    /** The started program, for a confirmed plan. */
    agent?: { path: string; sha256: string };
  };
  /** Returns a JSON value without the values of secrets. */
  hide: <T>(value: T) => T;
  /**
   * Runs the agent while its tools are served. The signal also aborts on the step's `_close`. `process` contains the
   * process settings. If null, the agent starts like the thread's own agent.
   */
  during: <T>(
    around: StepSurroundings,
    work: (signal: AbortSignal | undefined, process: AgentProcess | null) => Promise<T>,
  ) => Promise<T>;
};

/**
 * The sandbox of a step. `unavailable`: the step did not run because its sandbox or another part of its environment
 * is missing.
 */
export type SandboxKind = "off" | "bubblewrap" | "container" | "unavailable";
export type ProjectAccess = "read-only" | "read-write";

/** The context of an agent, except its request. */
export type StepSurroundings = StepHost & {
  thread: ThreadContext;
  environment: StepEnvironment;
  /** Called when the agent's session is known. */
  onSession: (id: string) => void;
};

/** An agent's final text and its cost. */
export type StepAnswer = {
  output: string;
  model?: string | null;
  usage?: Usage;
  cost?: number | null;
};

/** Runs the steps of a plan. Throws when a step fails. */
export type StepAgent = (
  request: StepRequest,
  surroundings: StepSurroundings,
) => Promise<StepAnswer>;

/** The environment of a thread without a plan home: no sandbox, no secrets, only the agent's own tools. */
export const openEnvironment: StepEnvironment = {
  sandbox: { sandbox: "off" },
  hide: (value) => value,
  during: ({ thread }, work) => work(thread.signal, null),
};
