import type { RoleOutput } from "../contract/contract.ts";
import { type DurableProgram, durable } from "../durable/durable.ts";
import { type RunThreadOptions, runThread, type ThreadOutcome } from "./run-thread.ts";

// What the tests of durable workflows share.

/** A step with text only. */
export const text = (role: string, content: string): RoleOutput => ({ role, content, meta: {} });

/** Runs a program as a thread in memory. */
export const run = (
  program: DurableProgram,
  options: RunThreadOptions = {},
): Promise<ThreadOutcome> => runThread(durable(program), options);

export const roles = ({ steps }: ThreadOutcome): string[] => steps.map((step) => step.role);

/** The summary, or, when there is none, all that is known of the end, as JSON. */
export const summary = (outcome: ThreadOutcome): string =>
  "result" in outcome ? outcome.result.summary : JSON.stringify({ ...outcome, steps: undefined });
