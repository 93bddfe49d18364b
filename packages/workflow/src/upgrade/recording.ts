import { type RoleOutput, type Step, WAIT } from "../contract/contract.ts";
import type { EndReason, StartRecord } from "../record/record.ts";

/** A thread to replay: its start record, its steps, and the reason of its end; null for a thread that goes on. */
export type Recording = { start: StartRecord; steps: Step[]; end: EndReason | null };

/**
 * Result of replaying a thread on another version. `continues`: the version follows the record and goes on after it.
 * `waits`: it follows the record up to an open question or a sleep. `ended`: the thread has ended, and the version
 * follows all its steps.
 */
export type ReplayStatus = "continues" | "diverges" | "waits" | "ended";

/**
 * The first difference: the number of the step, from 1, and both sides. A side is a role, a question as `__wait__ "for"`,
 * or `__end__`; `expected` is also several roles that run concurrently, joined by ` or `, or an error. `recorded` is
 * null after the last step of a thread that goes on.
 */
export type Difference = { step: number; recorded: string | null; expected: string | null };

/** A difference with the data to find its line: the stack of the version's code, or the role to look for. */
export type FoundDifference = Difference & { stack?: string; role?: string };

/** The result of one replay, from the child process. */
export type Verdict = { status: ReplayStatus; at: FoundDifference | null };

/** Returns the name of a step for people: its role, and what a question asks for. */
export const sideOf = ({ role, meta }: Pick<RoleOutput, "role" | "meta">): string =>
  role === WAIT ? `${WAIT} ${JSON.stringify(meta?.for ?? null)}` : role;

/** Whether an output is a recorded step, apart from its content: same role, and same question. */
export const isSameStep = (output: RoleOutput, step: RoleOutput): boolean =>
  output.role === step.role && (step.role !== WAIT || questionOf(output) === questionOf(step));

function questionOf({ meta }: RoleOutput): string {
  return JSON.stringify([meta?.for, meta?.role, meta?.nodeId, meta?.stepID, meta?.stepId]);
}
