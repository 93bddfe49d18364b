import type { ForkRequest, StartRequest } from "../control/control.ts";
import type { StartedIn, StartRecord } from "./record.ts";

/** Fields of a start record that do not come from the request. */
export type StartFacts = {
  /** That of the thread which it is a fork of. */
  source?: StartRecord;
  /** How many steps it may have where neither the request nor its source says. */
  rounds: number;
  /** The SHA-256 of the bundle that it runs. */
  sha256?: string;
  /** When it was made, in milliseconds since the epoch. */
  timestamp: number;
  startedIn?: StartedIn;
};

/** Start record of a new thread. The same request and facts give the same record in every process. */
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

/** How many steps a fork keeps. */
export const keptBy = (keep: ForkRequest["keep"]): number =>
  "first" in keep ? keep.first : keep.length;
