import { INPUT, type Step } from "../contract/contract.ts";
import type { InputRequest } from "../control/control.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { readLog } from "../log/log.ts";
import type { ThreadRef } from "./thread.ts";

/** The id by which an answer's sender makes it known as the same: `meta.requestId`, if it is a text. */
export function requestIdOf({ meta }: Pick<InputRequest, "meta">): string | undefined {
  const id = meta?.requestId;
  return typeof id === "string" ? id : undefined;
}

/** The ids of the requests whose answers stand among these steps. */
export const takenIds = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => (step.role === INPUT ? (requestIdOf(step) ?? []) : []));

/**
 * Whether a thread's log has this very answer already, however the thread went on: it was taken, and
 * to give it again has no second effect. An answer without a `requestId` is never the same.
 */
export function hasTaken(root: Root, { hash, threadId }: ThreadRef, input: InputRequest): boolean {
  const id = requestIdOf(input);
  if (id === undefined) return false;
  const log = readLog(dataPath(root, hash, threadId));
  return log.kind === "thread" && takenIds(log.steps).includes(id);
}
