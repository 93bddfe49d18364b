import type { ForkRequest, StartRequest } from "../control/control.ts";
import { readTraceparent } from "../contract/traceparent.ts";
import type { StartedIn, StartRecord } from "./record.ts";

/** Fields of a start record that do not come from the request. */
export type StartFacts = {
  /** Start record of a fork's source. */
  source?: StartRecord;
  /** Default limit of steps, when neither the request nor the source sets one. */
  rounds: number;
  /** SHA-256 of the thread's bundle. */
  sha256?: string;
  /** Time of creation, in milliseconds since the epoch. */
  timestamp: number;
  startedIn?: StartedIn;
};

/** Returns the start record of a new thread. The same request and facts give the same record in every process. */
export function startRecord(
  hash: string,
  { workflow: name, threadId, fork, ...given }: StartRequest,
  { source, rounds, sha256, timestamp, startedIn }: StartFacts,
): StartRecord {
  const before = source?.parameters;
  const maxRounds = given.maxRounds ?? before?.options.maxRounds ?? rounds;
  const params = given.params === undefined ? before?.params : given.params;
  return {
    name,
    hash,
    ...(sha256 !== undefined && { sha256 }),
    threadId,
    parameters: {
      prompt: given.prompt ?? before?.prompt ?? "",
      options: { ...before?.options, ...given.options, maxRounds },
      ...(params === undefined ? {} : { params }),
    },
    timestamp,
    ...(readTraceparent(given.traceparent) && { traceparent: given.traceparent }),
    ...(fork && { forkFrom: forkFromOf(fork, source) }),
    ...(startedIn && { startedIn }),
  };
}

function forkFromOf(
  { threadId, keep }: ForkRequest,
  source?: StartRecord,
): StartRecord["forkFrom"] {
  const origin = source?.forkFrom && (source.forkFrom.origin ?? source.forkFrom.threadId);
  return { threadId, steps: keptBy(keep), ...(origin !== undefined && { origin }) };
}

/** Returns the number of steps that a fork keeps. */
export const keptBy = (keep: ForkRequest["keep"]): number =>
  "first" in keep ? keep.first : keep.length;
