import type { LLMUsage } from "../adapter/adapter.ts";
import type { WorkflowDocument } from "../document/document.ts";

/**
 * One variable write: the path that was written, not the whole variable. `seq` counts the run's
 * writes: side by side steps are committed in another order than they wrote.
 */
export type Write = { path: (string | number)[]; value: unknown; seq: number };

/**
 * One construct that a step lies in: `in` is the construct's step id and `child` the entry of the chain;
 * a loop also has the iteration. A child workflow's chain has the run's id instead.
 */
export type PathPart =
  | { in: string; child: string; iteration?: number }
  | { in: string; run: string };

/** A child workflow that a step started: what it needs to go on with after a crash. */
export type ChildRun = {
  runID: string;
  params: Record<string, unknown>;
  /** The path that the step names. */
  workflow: string;
  /** The child's document, where it is not built into the bundle. */
  document?: WorkflowDocument;
};

/**
 * What a committed step records, beside its role and its content: the step's meta.
 *
 * `phase` is `done`; `body` when the step's own body is finished and its children are not; `mark` when
 * the step only tells that a chain of the construct has ended.
 */
export type Commit = {
  type: string;
  selected?: string | null;
  /** Of a Stop: the run ends with it. */
  stop?: { reason: string | null };
  outputs: Record<string, unknown> | null;
  variables: Write[];
  artifacts: Artifact[];
  completedBranches: Record<string, string[] | null>;
  loopProgress: Record<string, number | null>;
  path: PathPart[];
  next: string;
  /** Of a body that led elsewhere than the step's `next`: where the chain goes on after the children. */
  leadsTo?: string;
  phase: "done" | "body" | "mark";
  runID: string;
  eventSeq: number;
  durationMs: number;
  child?: ChildRun;
  model?: string;
  usage?: LLMUsage;
  cost?: number | null;
};

/** A file that was written, without a leading slash. */
export type Artifact = { path: string; size_bytes: number };
