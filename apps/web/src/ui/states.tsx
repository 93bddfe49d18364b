import type { UseQueryResult } from "@tanstack/react-query";
import type { Attempt } from "@uncaged/workflow/records";
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleSlash,
  CircleX,
  GitBranch,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  SkipForward,
  TriangleAlert,
  Unplug,
} from "lucide-react";
import { type ComponentProps, type ReactNode, useEffect, useEffectEvent, useState } from "react";
import { ApiError } from "../lib/request.ts";
import { useConnection } from "../lib/connection.ts";
import { Button } from "./button.tsx";

const pills = {
  plain: "bg-gray-soft text-gray",
  current: "bg-accent-soft text-accent",
  changed: "bg-amber-soft text-amber",
  paused: "bg-violet-soft text-violet",
} as const;

type BadgeProps = ComponentProps<"span"> & { icon: LucideIcon; look: string; large?: boolean };

export function Badge({ icon: Icon, look, large = false, children, ...rest }: BadgeProps) {
  const size = large ? "py-1 pr-3 pl-2 text-body" : "py-0.5 pr-2 pl-2 text-small";
  return (
    <span
      {...rest}
      className={`inline-flex items-center gap-1 rounded-full font-semibold whitespace-nowrap ${size} ${look}`}
    >
      <Icon />
      {children}
    </span>
  );
}

const rowStates = {
  running: { icon: LoaderCircle, word: "running", look: "text-blue" },
  done: { icon: CircleCheck, word: "done", look: "text-green" },
  failed: { icon: CircleX, word: "failed", look: "text-red" },
  skipped: { icon: SkipForward, word: "skipped", look: "text-faint" },
  cancelled: { icon: CircleSlash, word: "cancelled", look: "text-faint" },
  lost: { icon: Unplug, word: "lost", look: "text-faint" },
  waiting: { icon: MessageCircleQuestion, word: "waiting", look: "text-amber" },
  copied: { icon: GitBranch, word: "copied by the fork", look: "text-faint" },
  parked: { icon: MessageCircleQuestion, word: "asked", look: "text-faint" },
};

type StateIconProps = { icon: LucideIcon; word: string; look: string };

export const StateIcon = ({ icon: Icon, word, look }: StateIconProps) => (
  <span className={`flex ${look}`} title={word}>
    <Icon />
    <span className="sr-only">{word}</span>
  </span>
);

export const RowState = ({ status }: { status: keyof typeof rowStates }) => (
  <StateIcon {...rowStates[status]} />
);

/** The state of a node, from its newest attempt. */
export type NodeState = "idle" | "waiting" | Attempt["status"];

/** `border` is the frame of a node in a drawing. */
type NodeLook = StateIconProps & { border: string };

const dashed = "border-dashed border-line-strong text-muted";

/** Icons, words and colours of node states. */
export const nodeStates: Record<NodeState, NodeLook> = {
  idle: { icon: CircleDashed, word: "idle", look: "text-faint", border: dashed },
  running: { ...rowStates.running, border: "border-blue ring-3 ring-blue-soft" },
  waiting: { ...rowStates.waiting, border: "border-amber" },
  committed: { ...rowStates.done, border: "" },
  failed: { ...rowStates.failed, border: "border-red" },
  skipped: { ...rowStates.skipped, border: dashed },
  cancelled: { ...rowStates.cancelled, border: dashed },
  lost: { ...rowStates.lost, border: dashed },
  parked: { ...rowStates.waiting, border: "border-amber" },
};

type PillProps = { look?: keyof typeof pills; className?: string; children: ReactNode };

export function Pill({ look = "plain", className = "", children }: PillProps) {
  return (
    <span className={`rounded-full px-2 text-small font-semibold ${pills[look]} ${className}`}>
      {children}
    </span>
  );
}

export const PausingNote = () => (
  <span
    role="status"
    title="It pauses after the current step. Resume cancels the pause."
    className="self-center"
  >
    <Pill look="paused">pausing</Pill>
  </span>
);

type EmptyProps = { icon?: ReactNode; title: string; children?: ReactNode };

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-14 text-center text-muted [&>p]:max-w-136">
      {icon && (
        <div className="grid size-11 place-items-center rounded-full bg-accent-soft text-accent [&>svg]:size-[20px]">
          {icon}
        </div>
      )}
      <h2 className="text-title text-ink">{title}</h2>
      {children}
    </div>
  );
}

/** A list of warnings. Renders nothing for an empty list. */
export function Warnings({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul aria-label="Warnings">
      {of.map((warning) => (
        <li key={warning} className="flex gap-2 wrap-anywhere text-amber">
          <TriangleAlert className="mt-[3px]" /> {warning}
        </li>
      ))}
    </ul>
  );
}

export const Alert = ({ title, children, action }: AlertProps) => (
  <div
    role="alert"
    className="flex items-start gap-3 rounded-md border border-red/35 bg-red-soft px-4 py-3"
  >
    <CircleAlert className="mt-[2px] text-red" />
    <div className="flex min-w-0 flex-1 flex-col gap-1 wrap-anywhere">
      <p className="font-semibold">{title}</p>
      {children}
    </div>
    {action}
  </div>
);

type AlertProps = { title: string; children: ReactNode; action?: ReactNode };

type FailureProps = { error: Error; onRetry?: () => void };

export function FailureNotice({ error, onRetry }: FailureProps) {
  if (useIsPast(error, onRetry)) return null;
  const { hint, details } =
    error instanceof ApiError ? error : { hint: "reload the page", details: [] };
  const again = onRetry && (
    <Button small onClick={onRetry}>
      Try again
    </Button>
  );
  return (
    <Alert title={sentence(error.message)} action={again}>
      {details.length > 1 && (
        <ul className="code list-disc pl-4">
          {details.map((detail) => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      )}
      {hint && <p className="text-muted">{sentence(hint)}</p>}
    </Alert>
  );
}

/** Tells whether an error is outdated because the server is reachable again. If so, retries. */
function useIsPast(error: Error, onRetry: (() => void) | undefined): boolean {
  const isUnreached = error instanceof ApiError && error.status === 0;
  const isOpen = useConnection() === "open";
  const [lost, setLost] = useState<Error | null>(null);
  const isPast = isUnreached && isOpen && lost === error;
  const retry = useEffectEvent(() => onRetry?.());
  useEffect(() => {
    if (!isOpen) setLost(error);
    else if (isPast) retry();
  }, [error, isOpen, isPast]);
  return isPast;
}

export const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

type LoadedProps<Data> = {
  query: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  lines?: number;
  children: (data: Data) => ReactNode;
};

/** The data of a query, or its loading state or error. */
export function Loaded<Data>({ query, lines, children }: LoadedProps<Data>) {
  const { data, error, refetch } = query;
  if (data !== undefined) return children(data);
  if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return <Skeleton lines={lines} />;
}

type SkeletonProps = { lines?: number; what?: string };

export function Skeleton({ lines = 6, what = "Loading" }: SkeletonProps) {
  return (
    <div className="flex flex-col gap-3 p-4" role="status" aria-label={what}>
      {Array.from({ length: lines }, (_, line) => (
        <span
          key={line}
          className="h-4 w-[85%] animate-shimmer rounded-sm bg-[linear-gradient(90deg,var(--color-line)_25%,var(--color-hover)_50%,var(--color-line)_75%)] bg-size-[300%_100%] nth-[3n+1]:w-[92%] nth-[3n+2]:w-[78%]"
        />
      ))}
    </div>
  );
}
