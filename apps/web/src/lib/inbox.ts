import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { PlanRow, ThreadRow, WantedDecision } from "@uncaged/workflow-server/api-types";
import { withoutMarks } from "./format.ts";
import { waitingPlansQuery } from "./plans.ts";
import { threadsQuery } from "./threads.ts";

/** An item that waits for the user: a thread's question, a plan to confirm, or a failed step of a plan. */
export type InboxItem = {
  /** Identifies this question: the next question of the thread, and a changed plan, have another key. */
  key: string;
  subject: string;
  text: string;
  /** The asking role with its workflow, or the name of the plan. */
  from: string;
  /** Time of the question, in milliseconds since the epoch; null if unknown. */
  at: number | null;
} & (
  | { kind: "question"; thread: ThreadRow }
  | { kind: "plan"; plan: PlanRow }
  | { kind: "decision"; wanted: WantedDecision }
);

/** The items that wait for the user. */
export type Inbox = {
  items: readonly InboxItem[];
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
  return {
    items: itemsOf(asked.data?.pages.flatMap(({ rows }) => rows) ?? [], planned.data ?? []),
    isMore: asked.hasNextPage,
    isRead: asked.data !== undefined && (planned.data !== undefined || planned.error !== null),
    error: asked.error ?? planned.error,
  };
}

/**
 * Threads that asked for a decision about a plan. After the decision, a thread is listed as waiting until its own event
 * arrives.
 */
const threadsOfPlans = new Set<string>();

/** The items among threads and plans that wait for the user, newest first. */
export function itemsOf(threads: readonly ThreadRow[], plans: readonly PlanRow[]): InboxItem[] {
  for (const { wanted } of plans) for (const { threadId } of wanted) threadsOfPlans.add(threadId);
  const waiting = threads.filter(
    ({ sleepingUntil, status }) => status === "waiting" && sleepingUntil === undefined,
  );
  const keys = new Map(waiting.map((row) => [row.threadId, keyOf(row)]));
  return [
    ...plans.flatMap((plan) => decisionsOf(plan, keys)),
    ...plans.filter(isToConfirm).map(confirmationOf),
    ...waiting.filter(({ threadId }) => !threadsOfPlans.has(threadId)).map(questionOf),
  ].toSorted((one, other) => (other.at ?? Infinity) - (one.at ?? Infinity));
}

/** The question is the last step, so the number of steps identifies the question. */
const keyOf = ({ threadId, steps }: ThreadRow): string => `${threadId}.${steps}`;

const questionOf = (thread: ThreadRow): InboxItem => ({
  ...{ kind: "question", thread, at: thread.updatedAt, subject: thread.subject },
  key: keyOf(thread),
  text: withoutMarks(thread.at.text ?? ""),
  from: [thread.at.role, thread.workflow].filter(Boolean).join(" in "),
});

const isToConfirm = ({ metadata, phase }: PlanRow): boolean =>
  phase === "awaiting_confirmation" || metadata?.draft !== undefined;

const confirmationOf = (plan: PlanRow): InboxItem => ({
  ...{ kind: "plan", plan, at: Date.parse(plan.updated_at), subject: plan.name },
  key: `${plan.id}.${versionOf(plan)}`,
  text: plan.metadata?.draft === undefined ? plan.description : "A change of this plan",
  from: "Plan to be confirmed",
});

/** A short hash of the definition to confirm. */
function versionOf({ metadata, name, description, trigger, steps, failure_policy }: PlanRow) {
  const definition = metadata?.draft ?? { name, description, trigger, steps, failure_policy };
  let hash = 0;
  for (const letter of JSON.stringify(definition)) {
    hash = (Math.imul(hash, 31) + (letter.codePointAt(0) ?? 0)) >>> 0;
  }
  return hash.toString(36);
}

/** A thread of a plan may be listed before its decision, under the same key. */
const decisionsOf = (
  { wanted: all, name, last_run: run }: PlanRow,
  keys: ReadonlyMap<string, string>,
): InboxItem[] =>
  all.map((wanted) => ({
    ...{ kind: "decision", wanted, subject: name, from: `Plan, step ${wanted.stepId}` },
    at: run && Date.parse(run.started_at),
    key: keys.get(wanted.threadId) ?? `${wanted.threadId}.${wanted.stepId}.${wanted.question}`,
    text: wanted.error,
  }));
