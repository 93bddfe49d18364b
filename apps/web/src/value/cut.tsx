import { useQuery } from "@tanstack/react-query";
import type { Step } from "@uncaged/workflow-server/api-types";
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import { fullOf, keptIn, type Truncated } from "../activity/truncated.ts";
import { ApiError } from "../api/request.ts";
import { valueQuery, valueURL } from "../api/values.ts";
import { Button } from "../controls/button.tsx";
import { size } from "../format/amount.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import styles from "./value.module.css";

/** Where cut values are looked for in full. */
export type Committed = { threadId: string; prompt: string; steps: readonly Step[] };

/** The thread whose values are shown, and its committed steps. */
export const CommittedContext = createContext<Committed>({ threadId: "", prompt: "", steps: [] });

type Props = { value: Truncated; children: (full: unknown) => ReactNode };

// A page that lays out more than this of one value stands still.
const mostInPage = 1024 * 1024;

/** A value that its event holds in part; `children` shows it in full once that is asked for. */
export function Cut({ value, children }: Props) {
  const { threadId } = useContext(CommittedContext);
  const [isOpen, setIsOpen] = useState(false);
  const { at, length } = value;
  if (isOpen) {
    return at === undefined ? (
      <FromSteps value={value}>{children}</FromSteps>
    ) : (
      <FromLog value={value} at={at}>
        {children}
      </FromLog>
    );
  }
  return (
    <Short value={value}>
      {at !== undefined && length > mostInPage ? (
        <a href={valueURL(threadId, at)} target="_blank" rel="noreferrer">
          Open all of it ({size(length)})
        </a>
      ) : (
        <Button small onClick={() => setIsOpen(true)}>
          Show all ({size(length)})
        </Button>
      )}
    </Short>
  );
}

/** As the thread's log of values has it; else as a step does. */
function FromLog({ value, at, children }: Props & { at: number }) {
  const { threadId } = useContext(CommittedContext);
  const { data: json, error, isPending, refetch } = useQuery(valueQuery(threadId, at));
  const kept = useMemo(() => (json === undefined ? null : keptIn(value, json)), [json, value]);
  if (kept) return children(kept.value);
  if (isPending) {
    return (
      <Short value={value}>
        <Skeleton lines={2} what="Reading the value" />
      </Short>
    );
  }
  if (error && !isMissing(error)) {
    return (
      <Short value={value}>
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </Short>
    );
  }
  return <FromSteps value={value}>{children}</FromSteps>;
}

function FromSteps({ value, children }: Props) {
  const { prompt, steps } = useContext(CommittedContext);
  const [full] = useState(() => fullOf(value, prompt, steps));
  if (full) return children(full.value);
  return (
    <Short value={value}>
      <em>{size(value.length)} in all. The log keeps no more of it than this.</em>
    </Short>
  );
}

function Short({ value, children }: { value: Truncated; children: ReactNode }) {
  return (
    <div className={styles.cut}>
      <code className={styles.json}>{value.preview}</code>
      {children}
    </div>
  );
}

const isMissing = (error: Error): boolean => error instanceof ApiError && error.status === 404;
