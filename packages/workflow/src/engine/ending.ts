import { messageOf } from "../contract/error.ts";
import { END } from "../contract/reserved.ts";
import type { WorkflowResult } from "../contract/contract.ts";
import type { EndRecord } from "../log/record.ts";
import { failureRecord } from "./failure.ts";

/** The return code of a thread that was killed: 128 and SIGTERM, as a shell has it. */
export const killedCode = 143;

/** How a thread's log ends; `now` is in milliseconds since the epoch. */
export const returned = (result: WorkflowResult, now: number): EndRecord => ({
  role: END,
  content: result.summary,
  meta: { returnCode: result.returnCode, reason: "returned" },
  timestamp: now,
});

export const outOfRounds = (maxRounds: number, now: number): EndRecord => ({
  role: END,
  content: `stopped after maxRounds ${maxRounds}`,
  meta: { returnCode: 0, reason: "maxRounds" },
  timestamp: now,
});

export const killed = (now: number): EndRecord => ({
  role: END,
  content: "killed",
  meta: { returnCode: killedCode, reason: "killed" },
  timestamp: now,
});

/** `at.step` is the number of the step, from 1, that was to be made; `at.attempt` what failed. */
export function failed(
  thrown: unknown,
  at: { step: number; attempt?: string },
  now: number,
  mask: (text: string) => string,
): EndRecord {
  return {
    role: END,
    content: mask(messageOf(thrown)),
    meta: { returnCode: 1, reason: "failed", error: failureRecord(thrown, at, mask) },
    timestamp: now,
  };
}
