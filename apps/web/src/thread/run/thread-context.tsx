import { useRouterState } from "@tanstack/react-router";
import {
  addTally,
  noTally,
  sleepsUntil,
  spendingParts,
  type Tally,
  type ThreadTimes,
  timesAt,
  Waited,
} from "@uncaged/workflow/records";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from "react";
import { type ForkPoint, isEnded, isLive, ledgerQuery } from "../../lib/threads.ts";
import { ForkDialog } from "../fork/new-thread.tsx";
import type { Run } from "./use-run.ts";
import { readValue } from "../../lib/values.ts";
import { SectionsContext } from "../../ui/section.tsx";
import { type ValueSource, ValueSourceContext } from "../../ui/whole.tsx";
import { useQuery } from "@tanstack/react-query";
import { useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";

/** The thread that a page or a panel shows. */
type Shown = Run & {
  threadId: string;
  thread: Thread;
  status: Status;
  /** Whether the thread ended at its limit of rounds. */
  isStopped: boolean;
  /** The end of the thread's sleep in milliseconds since the epoch; null for a thread that is awake. */
  sleepingUntil: number | null;
  /** Opens the dialog that starts a new thread at a point of this thread. */
  fork: (point: ForkPoint) => void;
};

const Context = createContext<Shown | null>(null);

/**
 * The thread of the context.
 * @throws outside of a {@link ThreadContext}.
 */
export function useThread(): Shown {
  const shown = use(Context);
  if (!shown) throw new Error("the component is not in a ThreadContext");
  return shown;
}

type Props = {
  run: Run;
  thread: Thread;
  status: Status;
  /** Called with a new thread and its start. By default, the thread is opened. */
  onForked?: (threadId: string, point: ForkPoint) => void;
  children: ReactNode;
};

/** Provides a thread, and the dialog that starts a new thread from it. */
export function ThreadContext({ run, thread, status, onForked, children }: Props) {
  const { log } = run;
  const [point, fork] = useState<ForkPoint | null>(null);
  const address = useRouterState({ select: ({ location }) => location.href });
  // Browser navigation closes the dialog.
  useEffect(() => fork(null), [address]);
  const isStopped = (log.end?.result ?? thread.result)?.reason === "maxRounds";
  const sleepingUntil = status === "waiting" ? sleepsUntil(log.steps.at(-1) ?? thread.last) : null;
  const { threadId } = thread;
  return (
    <Context value={{ ...run, threadId, thread, status, isStopped, sleepingUntil, fork }}>
      {children}
      {point && (
        <ForkDialog
          {...{ thread, point }}
          steps={log.steps}
          onMade={onForked && ((id) => onForked(id, point))}
          onClose={() => fork(null)}
        />
      )}
    </Context>
  );
}

/** Provides a loader of full values and the open state of sections. */
export function RunContext({ run, children }: { run: Run; children: ReactNode }) {
  const { threadId, log } = run;
  const prompt = run.thread?.prompt ?? "";
  const sections = useMemo(() => new Map<string, boolean>(), []);
  const values = useMemo(
    (): ValueSource => ({
      name: threadId ?? "",
      read: (value, signal) =>
        readValue(value, { threadId: threadId ?? "", prompt, steps: log.steps }, signal),
    }),
    [threadId, prompt, log],
  );
  return (
    <SectionsContext value={sections}>
      <ValueSourceContext value={values}>{children}</ValueSourceContext>
    </SectionsContext>
  );
}

/** The times and the spending of the shown thread, live, with its running attempts. */
export function useFigures() {
  const { thread, status, log } = useThread();
  const { threadId, stepCount } = thread;
  const { data: ledger } = useQuery({ ...ledgerQuery(threadId), enabled: isEnded(status) });
  const now = useNow(isLive(status) ? 1_000 : 30_000);
  const { workedMs, waitedMs } = timesOf(thread, status, log, now);
  const steps = Math.max(log.steps.length, stepCount);
  // The ledger leaves out running attempts, so a live thread is counted from its log.
  const spent = (isEnded(status) && ledger?.total) || spentIn(log);
  return { now, workedMs, waitedMs, steps, spent };
}

function spentIn({ cards }: ThreadLog): Tally {
  const parts = [...spendingParts(cards.map(({ attempt }) => attempt))];
  return parts
    .filter(({ kind }) => kind !== "saved")
    .flatMap(({ models }) => models.map(([, tally]) => tally))
    .reduce(addTally, noTally);
}

function timesOf(thread: Thread, status: Status, log: ThreadLog, now: number): ThreadTimes {
  const { createdAt, stepCount } = thread;
  // Shows the server's values until all steps have arrived.
  if (log.steps.length < stepCount) return thread;
  const waited = new Waited(createdAt);
  for (const step of log.steps) waited.take(step);
  const last = log.steps.at(-1)?.timestamp ?? createdAt;
  const updatedAt = isEnded(status) ? Math.max(last, log.lastAt) : last;
  if (isEnded(status)) waited.take({ role: "__end__", timestamp: updatedAt });
  return timesAt({ status, createdAt, updatedAt, waitedMs: waited.ms }, now);
}
