import type { Step, WorkflowFn, WorkflowOptions } from "../contract/contract.ts";
import type { Appended, ThreadState } from "../store/store.ts";
import type { AnswerParts } from "./answer.ts";
import type { AttemptParts } from "./attempts.ts";
import type { DescriptorCheck } from "./descriptor-check.ts";
import type { ClosingParts } from "./generator.ts";

/** Dependencies of the engine. */
export type EngineParts = Omit<ClosingParts, "describe"> &
  AnswerParts & {
    log: { append(record: string, state: ThreadState): Promise<Appended> };
    attempts: AttemptParts;
    /** Checks steps against the bundle's descriptor. Without it, steps are not checked. */
    check?: DescriptorCheck;
    mask: (text: string) => string;
    /** Called when the thread starts to wait for an answer, and when a pause has stopped it. */
    onWait: () => void;
  };

/** The recorded state of a thread, and the arguments of its `run`. */
export type EngineThread = {
  run: WorkflowFn;
  prompt: string;
  steps: Step[];
  params?: unknown;
  options: WorkflowOptions;
  /** Creation time, in milliseconds since the epoch; by default the current time. */
  createdAt?: number;
};

/**
 * State of the engine. From `ending` on it does not advance the generator, which may still be closing: the end record
 * is being written or is durable, or the thread was released with its log unchanged.
 */
export type EngineState =
  | { kind: "running" }
  /** Stopped between two steps by a pause. */
  | { kind: "parked" }
  /** The last step is a question or a sleep. */
  | { kind: "waiting" }
  | { kind: "ending"; written: Promise<void> }
  | { kind: "ended"; written: Promise<void> }
  | { kind: "released" };
