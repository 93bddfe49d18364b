import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { PlanRow, ThreadRow, WantedDecision } from "@uncaged/workflow-server/api-types";
import { waitingPlansQuery } from "./plans.ts";
import { threadsQuery } from "./threads.ts";

/** All that waits for the reader. */
export type Inbox = {
  /** The failed steps of plans' runs that are decided about. */
  decisions: readonly WantedDecision[];
  /** The plans that are to be confirmed, or whose change is. */
  plans: readonly PlanRow[];
  /** The threads that wait for an answer, and are not those of the decisions. */
  threads: readonly ThreadRow[];
  /** The names of the plans that all of these are of, by their ids. */
  names: ReadonlyMap<string, string>;
  count: number;
  /** Whether there are more threads than were read. */
  isMore: boolean;
  /** Whether it is known; and why it is not. */
  isRead: boolean;
  error: Error | null;
};

/** What waits for the reader, kept up to date by the events of the server. */
export function useInbox(): Inbox {
  const asked = useInfiniteQuery(threadsQuery({ status: ["waiting"], details: false }));
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
