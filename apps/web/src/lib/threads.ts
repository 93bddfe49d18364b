import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type * as Api from "@uncaged/workflow-server/api-types";
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
      requestPage<Api.ThreadRow>("/threads", {
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
      request<Api.ThreadSummary>("/threads/summary", {
        query: { ...queryOfFilter(filter), since, until },
        signal,
      }),
    placeholderData: keepPreviousData,
  });

export const recentThreadsQuery = (workflow: string) =>
  queryOf<Api.ThreadRow[]>([...threadKeys.newest, "of", workflow], "/threads", {
    workflow,
    limit: 20,
  });

export const failedThreadsQuery = (workflow: string) =>
  queryOf<Api.ThreadRow[]>([...threadKeys.newest, "failed", workflow], "/threads", {
    workflow,
    status: "failed",
    limit: 10,
  });

const ofThread = <Answer>(id: string, parts: string[], key: unknown[], query?: RequestQuery) =>
  queryOf<Answer>([...threadKeys.one(id), ...key], pathOf("threads", id, ...parts), query);

/** A thread without its steps, which its stream sends. */
export const threadQuery = (id: string) => ofThread<Api.Thread>(id, [], ["head"], { steps: false });

/** A page of a thread's steps; `from` counts from 1. */
export const stepsQuery = (id: string, from: number, limit: number) =>
  ofThread<Api.StepsPage>(id, ["steps"], ["steps", from, limit], { from, limit });

export const ledgerQuery = (id: string) => ofThread<Api.Ledger>(id, ["ledger"], ["ledger"]);

export const familyQuery = (id: string) => ofThread<Api.Relative[]>(id, ["family"], ["family"]);

export const diffQuery = (id: string, other: string) =>
  ofThread<Api.ThreadDiff>(id, ["diff"], ["diff", other], { with: other });

/** The attempts of a thread. Copied attempts include the records of the original thread. */
export const readAttempts = (id: string) =>
  request<Api.Attempts>(pathOf("threads", id, "attempts"));

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

export const startThread = (body: Api.StartThread) => once<Api.StartedThread>("/threads", body);

export const answerThread = (id: string, body: Api.AnswerThread) =>
  act<Api.Controlled>(id, "input", body);

export const killThread = (id: string, force = false) => act<Api.Killed>(id, "kill", { force });

/** Interrupted threads, split by whether they may be resumed automatically. */
export const interruptedQuery = queryOf<Api.Recovered>(
  [...threadKeys.all, "interrupted"],
  "/interrupted",
);

export const resumeInterrupted = () =>
  request<Api.Recovered>("/interrupted/resume", { method: "POST" });

export const pauseAll = () => request<Api.StoppedAll>("/pause", { method: "POST" });

export const killAll = () => request<Api.StoppedAll>("/kill", { method: "POST", json: {} });

export const forkThread = (id: string, body: Api.ForkThread) =>
  once<Api.ForkedThread>(pathOf("threads", id, "fork"), body);

export const retryThread = (id: string, body: Api.RetryThread = {}) =>
  once<Api.ForkedThread>(pathOf("threads", id, "retry"), body);

export const removeThread = (id: string) =>
  request<Api.Controlled>(pathOf("threads", id), { method: "DELETE" });

const root = "/workflow";

/** The values at the start of a step. The number after the last step is the next step. */
export const readValues = (id: string, step: number, signal?: AbortSignal) =>
  request<Api.RunValues>(pathOf(id, "values"), { root, query: { step }, signal });

/** The state of a run after its first steps, or before a step's last execution. By default its newest state. */
export const readCheckpoint = (
  id: string,
  at: { steps?: number; before?: string },
  signal?: AbortSignal,
) => request<Api.RunCheckpoint>(pathOf(id, "checkpoint"), { root, query: at, signal });

export const startRerun = (body: Api.Rerun) => once<Api.RunState>("/rerun", body, root);

/** Tells whether a worker runs a thread with this status. */
export const isLive = (status: Api.Status): boolean => status === "running" || status === "paused";

export const isEnded = (status: Api.Status): boolean =>
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
