import type { ErrorMap } from "../adapter/error.ts";
import { BREAK, RETURN } from "../document/constants.ts";
import type { Artifact, PathPart, Write } from "../state/commit.ts";
import { type MarkChanges, noChanges } from "../state/marks.ts";
import type { Position } from "../state/position.ts";

/** Variable writes and files of a step. */
type Written = { variables: Write[]; artifacts: Artifact[] };

/** How a chain ended. */
export type ChainEnd = typeof RETURN | typeof BREAK;

/**
 * Steps that follow each other, at the top or inside a construct. `path` are the constructs around it,
 * `locals` what its expressions see beside the run's names.
 */
export class Chain {
  readonly path: readonly PathPart[];
  readonly locals: Record<string, unknown>;
  readonly signal: AbortSignal;
  position: Position;
  /** What failed, for the step that handles it: `_error`. */
  handled: ErrorMap | null = null;
  #left: Written = { variables: [], artifacts: [] };
  #onEnd: ((end: ChainEnd) => MarkChanges) | null;

  constructor(parts: {
    path: readonly PathPart[];
    locals: Record<string, unknown>;
    signal: AbortSignal;
    position: Position;
    /** The marks that the commit with which the chain ends must carry. Called once. */
    onEnd?: (end: ChainEnd) => MarkChanges;
  }) {
    this.path = parts.path;
    this.locals = parts.locals;
    this.signal = parts.signal;
    this.position = parts.position;
    this.#onEnd = parts.onEnd ?? null;
  }

  /** Keeps what a failed step wrote for the commit of the step that handles it. */
  leave({ variables, artifacts }: Written): void {
    this.#left.variables.push(...variables);
    this.#left.artifacts.push(...artifacts);
  }

  /** Takes what was kept. */
  claim(): Written {
    const left = this.#left;
    this.#left = { variables: [], artifacts: [] };
    return left;
  }

  /** Says that the chain goes on at `next`: the marks to commit with that. */
  marksAt(next: string): MarkChanges {
    return isEnd(next) ? this.end(next) : noChanges();
  }

  /** Ends the chain: its marks, if they were not taken before. */
  end(end: ChainEnd): MarkChanges {
    const marks = this.#onEnd?.(end) ?? noChanges();
    this.#onEnd = null;
    return marks;
  }
}

/** Whether a chain ends instead of going on at a step. */
export const isEnd = (next: string): next is ChainEnd => next === RETURN || next === BREAK;
