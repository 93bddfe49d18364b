import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type {
  AnswerThread,
  Attempts,
  Controlled,
  ForkThread,
  ForkedThread,
  Killed,
  Recovered,
  StoppedAll,
  Ledger,
  Relative,
  Rerun,
  RetryThread,
  RunCheckpoint,
  RunState,
  RunValues,
  StartThread,
  StartedThread,
  Status,
  StepsPage,
  Thread,
  ThreadDiff,
  ThreadRow,
  ThreadSummary,
} from "@uncaged/workflow-server/api-types";
import { ulid } from "ulid";
import { queryOfFilter, type ThreadFilter, timesOf } from "./thread-filter.ts";
import { pathOf, queryOf, request, requestPage, type RequestQuery } from "./request.ts";

const pageSize = 100;

export const threadKeys = {
  all: ["threads"] as const,
  lists: ["threads", "list"] as const,
  newest: ["threads", "newest"] as const,
  one: (id: string) => ["threads", "one", id] as const,
};

/** The threads of a filter, newest first. A short first page arrives early on a slow connection. */
export const threadsQuery = (filter: ThreadFilter, firstSize = pageSize) =>
  infiniteQueryOptions({
    queryKey: [...threadKeys.lists, filter, firstSize],
    queryFn: ({ pageParam, signal }) =>
      requestPage<ThreadRow>("/threads", {
        query: {
          ...queryOfFilter(filter),
          ...timesOf(filter, Date.now()),
          limit: pageParam === undefined ? firstSize : pageSize,
          before: pageParam,
        },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ rows, hasMore }) => (hasMore ? rows.at(-1)?.threadId : undefined),
    placeholderData: keepPreviousData,
  });

/** The figures by the hour of a filter's threads between two moments. */
export const summaryQuery = (filter: ThreadFilter, since: number, until: number) =>
  queryOptions({
    queryKey: [...threadKeys.newest, "summary", filter, since],
    queryFn: ({ signal }) =>
      request<ThreadSummary>("/threads/summary", {
        query: { ...queryOfFilter(filter), since, until },
        signal,
      }),
    placeholderData: keepPreviousData,
  });

/** The newest thread of a version; undefined without threads. */
export const newestThreadQuery = (hash: string) =>
  queryOf<ThreadRow[]>([...threadKeys.newest, hash], "/threads", { workflow: hash, limit: 1 });

export const recentThreadsQuery = (workflow: string) =>
  queryOf<ThreadRow[]>([...threadKeys.newest, "of", workflow], "/threads", { workflow, limit: 20 });

export const failedThreadsQuery = (workflow: string) =>
  queryOf<ThreadRow[]>([...threadKeys.newest, "failed", workflow], "/threads", {
    workflow,
    status: "failed",
    limit: 10,
  });

const ofThread = <Answer>(id: string, parts: string[], key: unknown[], query?: RequestQuery) =>
  queryOf<Answer>([...threadKeys.one(id), ...key], pathOf("threads", id, ...parts), query);

/** A thread without its steps, which its stream sends. */
export const threadQuery = (id: string) => ofThread<Thread>(id, [], ["head"], { steps: false });

/** A page of a thread's steps; `from` counts from 1. */
export const stepsQuery = (id: string, from: number, limit: number) =>
  ofThread<StepsPage>(id, ["steps"], ["steps", from, limit], { from, limit });

export const ledgerQuery = (id: string) => ofThread<Ledger>(id, ["ledger"], ["ledger"]);

export const familyQuery = (id: string) => ofThread<Relative[]>(id, ["family"], ["family"]);

export const diffQuery = (id: string, other: string) =>
  ofThread<ThreadDiff>(id, ["diff"], ["diff", other], { with: other });

/** The attempts of a thread. Copied attempts include the records of the original thread. */
export const readAttempts = (id: string) => request<Attempts>(pathOf("threads", id, "attempts"));

export const act = <Answer>(id: string, action: string, json: unknown = {}) =>
  request<Answer>(pathOf("threads", id, action), { method: "POST", json });

/** Ids of requested threads without a response yet, by request. */
const unanswered = new Map<string, string>();

/**
 * Requests a new thread with an id generated here. After a lost response, a retry sends the same id, so that the
 * server does not start a second thread.
 */
async function once<Answer>(path: string, json: object, from?: typeof root): Promise<Answer> {
  const asked = JSON.stringify([path, json]);
  const threadId = unanswered.get(asked) ?? ulid();
  unanswered.set(asked, threadId);
  const body = { ...json, threadId };
  const answer = await request<Answer>(path, { root: from, method: "POST", json: body });
  unanswered.delete(asked);
  return answer;
}

export const startThread = (body: StartThread) => once<StartedThread>("/threads", body);

export const answerThread = (id: string, body: AnswerThread) => act<Controlled>(id, "input", body);

export const killThread = (id: string, force = false) => act<Killed>(id, "kill", { force });

/** Interrupted threads, split by whether they may be resumed automatically. */
export const interruptedQuery = queryOf<Recovered>(
  [...threadKeys.all, "interrupted"],
  "/interrupted",
);

export const resumeInterrupted = () =>
  request<Recovered>("/interrupted/resume", { method: "POST" });

export const pauseAll = () => request<StoppedAll>("/pause", { method: "POST" });

export const killAll = () => request<StoppedAll>("/kill", { method: "POST", json: {} });

export const forkThread = (id: string, body: ForkThread) =>
  once<ForkedThread>(pathOf("threads", id, "fork"), body);

export const retryThread = (id: string, body: RetryThread = {}) =>
  once<ForkedThread>(pathOf("threads", id, "retry"), body);

export const removeThread = (id: string) =>
  request<Controlled>(pathOf("threads", id), { method: "DELETE" });

const root = "/workflow";

/** The values at the start of a step. The number after the last step is the next step. */
export const readValues = (id: string, step: number, signal?: AbortSignal) =>
  request<RunValues>(pathOf(id, "values"), { root, query: { step }, signal });

/** The state of a run after its first steps, or before a step's last execution. By default its newest state. */
export const readCheckpoint = (
  id: string,
  at: { steps?: number; before?: string },
  signal?: AbortSignal,
) => request<RunCheckpoint>(pathOf(id, "checkpoint"), { root, query: at, signal });

export const startRerun = (body: Rerun) => once<RunState>("/rerun", body, root);

/** Tells whether a worker runs a thread with this status. */
export const isLive = (status: Status): boolean => status === "running" || status === "paused";

export const isEnded = (status: Status): boolean =>
  status === "completed" || status === "failed" || status === "killed";

/**
 * The start of a new thread: after a kept step, or at a step that runs again. A failed attempt has the number after the
 * last step.
 */
export type ForkPoint = { kind: "fork" | "rerun"; number: number };

/** Validates the limit of rounds. An empty text means no limit. */
export function problemOfRounds(text: string): { maxRounds?: string } {
  const isFine = text.trim() === "" || (Number.isInteger(Number(text)) && Number(text) > 0);
  return isFine ? {} : { maxRounds: "This must be a whole number of at least 1." };
}
