import { WorkflowError } from "../contract/error.ts";
import type { Surroundings, WakeRequest } from "../control/control.ts";
import type { StartRecord } from "../record/record.ts";
import { stateAfter } from "../store/state.ts";
import type { Claim } from "../store/store.ts";

/** Maximum number of threads woken by one request, so that the response arrives in time. */
export const mostAtOnce = 200;
/** Delay of the next wake after a failed wake, in milliseconds. */
export const wakeAgainMs = 60_000;

/**
 * Returns the surroundings of a due thread: from the request, with defaults from the thread's folder; null when the
 * request does not include that folder. @throws WorkflowError the error of reading the folder.
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

/** Whether a thread waits until a time in the past. */
export const isDue = ({ start, steps }: Claim, now: number): boolean => {
  const { maxRounds } = start.parameters.options;
  const state = stateAfter(steps.at(-1) ?? null, steps.length, maxRounds);
  return state.kind === "waiting" && state.dueAt !== null && state.dueAt <= now;
};
