import type { Step, WorkflowFn, WorkflowOptions } from "../contract/contract.ts";
import type { Appended, ThreadState } from "../store/store.ts";
import type { AnswerParts } from "./answer.ts";
import type { AttemptParts } from "./attempts.ts";
import type { DescriptorCheck } from "./descriptor-check.ts";
import type { ClosingParts } from "./generator.ts";

/** What the engine needs of its surroundings. */
export type EngineParts = Omit<ClosingParts, "describe"> &
  AnswerParts & {
    log: { append(record: string, state: ThreadState): Promise<Appended> };
    attempts: AttemptParts;
    /** Without it nothing is checked. */
    check?: DescriptorCheck;
    mask: (text: string) => string;
    /** Called when the thread begins to wait for an answer, and when a pause has stopped it. */
    onWait: () => void;
  };

/** The thread as its log has it, and what `run` gets. */
export type EngineThread = {
  run: WorkflowFn;
  prompt: string;
  steps: Step[];
  params?: unknown;
  options: WorkflowOptions;
  /** When it was made, in milliseconds since the epoch; without it now. */
  createdAt?: number;
};

/**
 * What the engine does with its thread. From `ending` on it asks the generator for nothing, though that may still be closing:
 * its end record is being written, is durable, or the thread was released with its log as it is.
 */
export type EngineState =
  | { kind: "running" }
  /** Stopped between two steps by a pause. */
  | { kind: "parked" }
  /** The last step asks, or sleeps. */
  | { kind: "waiting" }
  | { kind: "ending"; written: Promise<void> }
  | { kind: "ended"; written: Promise<void> }
  | { kind: "released" };
