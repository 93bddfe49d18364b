import type { ThreadContext, Usage } from "@uncaged/workflow";
import type { PlanStep } from "../plan/plan.ts";

/** What the agent of a step is asked. */
export type StepRequest = {
  stepId: string;
  attempt: number;
  prompt: string;
  /** The session of an earlier attempt at the same step, to be resumed; null for none. */
  resume: string | null;
  /** The id that a new session is to have, where the agent takes one: so it is known after a crash. */
  sessionId: string;
  /** How long it may take, in milliseconds. */
  timeoutMs: number;
};

/** A subtask as an agent asks for one; without `depends_on` it depends on the step that creates it. */
export type Subtask = {
  id?: string;
  description: string;
  inputs?: PlanStep["inputs"];
  depends_on?: string[];
};

/** What the tools of a step may do in its run. */
export type StepHost = {
  /** Adds a step to the run; resolves when it is committed. @throws ExecutorError when it is refused. */
  createSubtask: (subtask: Subtask) => Promise<PlanStep>;
  /** Commits a notice to the owner; resolves when it is committed. */
  notify: (message: string) => Promise<void>;
  /** The steps of the run that have succeeded. */
  outputs: () => { step: string; output: string }[];
};

/** How the process of a step's agent is started. */
export type AgentProcess = {
  /** All variables that it gets. */
  env: Record<string, string>;
  /** Starts it in place of its name, as a sandbox does. */
  launch?: { argv: readonly string[]; descriptors: () => readonly number[] };
  /** Further arguments, and tools that it may use without asking. */
  args: readonly string[];
  tools: readonly string[];
  secrets: Readonly<Record<string, string>>;
};

/** What one attempt at a step runs in. */
export type StepEnvironment = {
  /** What holds, for the record of its start. */
  sandbox: {
    sandbox: SandboxKind;
    limits?: string[];
    network?: boolean;
    project?: ProjectAccess;
    /** The program that is started, of a confirmed plan. */
    agent?: { path: string; sha256: string };
  };
  /** A JSON value without the values of secrets. */
  hide: <T>(value: T) => T;
  /**
   * Does the agent's work while its tools are answered. The signal is also that of the step's `_close`. `process` is how the
   * agent is started; null: as the thread's own.
   */
  during: <T>(
    around: StepSurroundings,
    work: (signal: AbortSignal | undefined, process: AgentProcess | null) => Promise<T>,
  ) => Promise<T>;
};

/** What a step runs in; `unavailable`: it did not run, since what it was to run in is not there. */
export type SandboxKind = "off" | "bubblewrap" | "container" | "unavailable";
export type ProjectAccess = "read-only" | "read-write";

/** What an agent has besides what it is asked. */
export type StepSurroundings = StepHost & {
  thread: ThreadContext;
  environment: StepEnvironment;
  /** The agent's session is known. */
  onSession: (id: string) => void;
};

/** An agent's final text, and what it spent. */
export type StepAnswer = {
  output: string;
  model?: string | null;
  usage?: Usage;
  cost?: number | null;
};

/** What carries out the steps of a plan. It throws when a step has failed. */
export type StepAgent = (
  request: StepRequest,
  surroundings: StepSurroundings,
) => Promise<StepAnswer>;

/** That of a thread without a plan home: no sandbox, no secrets, no tools but the agent's own. */
export const openEnvironment: StepEnvironment = {
  sandbox: { sandbox: "off" },
  hide: (value) => value,
  during: ({ thread }, work) => work(thread.signal, null),
};
