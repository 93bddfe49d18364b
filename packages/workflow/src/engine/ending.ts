import { messageOf } from "../contract/error.ts";
import { END } from "../contract/reserved.ts";
import type { WorkflowResult } from "../contract/contract.ts";
import type { EndRecord } from "../thread-log/record.ts";

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

/** `step` is the number of the step, from 1, that was to be made. */
export function failed(
  thrown: unknown,
  step: number,
  now: number,
  mask: (text: string) => string,
): EndRecord {
  const name = nameOf(thrown);
  return {
    role: END,
    content: mask(messageOf(thrown)),
    meta: { returnCode: 1, reason: "failed", error: { name: mask(name), step } },
    timestamp: now,
  };
}

// What a bundle throws may be anything: a Proxy that throws at each touch, a name that is no string.
function nameOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return typeof thrown;
    const { name }: { name: unknown } = thrown;
    return String(name).slice(0, 200);
  } catch {
    return "unknown";
  }
}
