import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { PlanRow, ThreadRow, WantedDecision } from "@uncaged/workflow-server/api-types";
import { waitingPlansQuery } from "./plans.ts";
import { threadsQuery } from "./threads.ts";

/** Everything that waits for the user. */
export type Inbox = {
  /** Failed steps of plans' runs that need a decision. */
  decisions: readonly WantedDecision[];
  /** Plans, or changes of plans, to confirm. */
  plans: readonly PlanRow[];
  /** Threads that wait for an answer, except the threads of decisions. */
  threads: readonly ThreadRow[];
  /** Names of plans, by id. */
  names: ReadonlyMap<string, string>;
  count: number;
  /** Whether the list of threads is incomplete. */
  isMore: boolean;
  /** Whether the inbox has loaded. */
  isRead: boolean;
  error: Error | null;
};

/** The inbox, updated by server events. */
export function useInbox(): Inbox {
  const asked = useInfiniteQuery(threadsQuery({ status: "waiting" }));
  const planned = useQuery(waitingPlansQuery);
  const decisions = (planned.data ?? []).flatMap(({ wanted }) => wanted);
  const decided = new Set(decisions.map(({ threadId }) => threadId));
  const threads = (asked.data?.pages ?? [])
    .flatMap(({ rows }) => rows)
    .filter(
      ({ sleepingUntil, status, threadId }) =>
        status === "waiting" && sleepingUntil === undefined && !decided.has(threadId),
    );
  const plans = (planned.data ?? []).filter(isToConfirm);
  return {
    ...{ decisions, plans, threads },
    names: new Map(planned.data?.map(({ id, name }) => [id, name])),
    count: decisions.length + plans.length + threads.length,
    isMore: asked.hasNextPage,
    isRead: asked.data !== undefined && (planned.data !== undefined || planned.error !== null),
    error: asked.error ?? planned.error,
  };
}

const isToConfirm = ({ metadata, phase }: PlanRow): boolean =>
  phase === "awaiting_confirmation" || metadata?.draft !== undefined;
