import { ulidTime } from "../contract/base32.ts";
import type { Step } from "../contract/contract.ts";
import type { Break, LogFacts, StartRecord } from "./record.ts";
import { timesAt, waitedIn } from "./times.ts";
import {
  forkFromIn,
  type LiveFacts,
  type Noted,
  statusOf,
  type ThreadRef,
  type ThreadView,
} from "./thread.ts";

/** Returns the view of a thread with an unreadable start record. */
export function headlessView({ hash, threadId }: ThreadRef, broken: Break): ThreadView {
  return {
    status: "corrupt",
    broken,
    threadId,
    workflow: "",
    hash,
    prompt: "",
    maxRounds: 0,
    createdAt: ulidTime(threadId),
    steps: [],
    workedMs: 0,
    waitedMs: 0,
    forkFrom: null,
  };
}

function limitsIn({ maxCost, maxTokens }: Record<string, unknown>): Pick<ThreadView, "limits"> {
  const limits = {
    ...(typeof maxCost === "number" && { maxCost }),
    ...(typeof maxTokens === "number" && { maxTokens }),
  };
  return Object.keys(limits).length > 0 ? { limits } : {};
}

/** Returns the view of a whole thread from its log, its worker and the facts beside its log. */
export function viewOf(
  { hash, threadId }: ThreadRef,
  { start, steps, broken, end }: Omit<LogFacts, "last"> & { start: StartRecord; steps: Step[] },
  driver: LiveFacts | null,
  noted: Noted,
  now: number,
): ThreadView {
  const state = statusOf({ broken, end, last: steps.at(-1) ?? null }, driver, noted);
  const { timestamp: createdAt } = start;
  const updatedAt = (end ?? steps.at(-1) ?? start).timestamp;
  const waitedMs = waitedIn(start, [...steps, end]);
  const { prompt, params, options } = start.parameters;
  const { movedTo } = noted;
  return {
    ...state,
    ...(movedTo !== null && { movedTo }),
    threadId,
    workflow: start.name,
    hash,
    prompt,
    ...(params === undefined ? {} : { params }),
    maxRounds: options.maxRounds,
    ...limitsIn(options),
    createdAt,
    ...timesAt({ status: state.status, createdAt, updatedAt, waitedMs }, now),
    steps,
    forkFrom: forkFromIn(start),
  };
}
