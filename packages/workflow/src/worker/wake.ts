import { WorkflowError } from "../contract/error.ts";
import type { Surroundings, WakeRequest } from "../control/control.ts";
import type { StartRecord } from "../record/record.ts";
import { stateAfter } from "../store/state.ts";
import type { Claim } from "../store/store.ts";

/** A request wakes so many threads at most, so that it is answered in time. */
export const mostAtOnce = 200;
export const wakeAgainMs = 60_000;

/**
 * What a thread that is due is continued with: what the request has for all, and beneath it what it has for the
 * thread's folder; null when that folder was not seen by who asks. @throws WorkflowError what the folder can't have.
 */
export function surroundingsFor(
  start: StartRecord,
  { folders, ...request }: WakeRequest,
): Surroundings | null {
  const folder = start.parameters.options.cwd;
  if (typeof folder !== "string") return request;
  const own = Object.hasOwn(folders, folder) ? folders[folder] : undefined;
  if (!own) return null;
  if ("error" in own) throw new WorkflowError(own.error);
  const secrets = Object.keys(own.env);
  return secrets.length === 0
    ? request
    : { ...request, env: { ...own.env, ...request.env }, secrets };
}

/** Whether a thread waits until a time that has come. */
export const isDue = ({ start, steps }: Claim, now: number): boolean => {
  const { maxRounds } = start.parameters.options;
  const state = stateAfter(steps.at(-1) ?? null, steps.length, maxRounds);
  return state.kind === "waiting" && state.dueAt !== null && state.dueAt <= now;
};
