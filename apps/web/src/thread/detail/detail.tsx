import { answererIn, answererText, sleepsUntil } from "@uncaged/workflow/records";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { cost, duration, moment, roleName, tokens, until, useNow } from "../../lib/format.ts";
import { type Card, failedAmong, type ThreadLog } from "../../lib/thread-log.ts";
import type { ForkPoint } from "../../lib/threads.ts";
import { Button, Copy } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Prose } from "../../ui/prose.tsx";
import type { TraceRow } from "../trace/rows.ts";
import { AttemptDetail } from "./attempt-detail.tsx";
import { Parts } from "./children.tsx";
import { ToolDetail } from "./conversation.tsx";
import { tryOf, spendingOf } from "./parts.ts";
import { RowState } from "./row-state.tsx";

type Props = {
  row: TraceRow;
  log: ThreadLog;
  thread: Thread;
  onForkPoint: (point: ForkPoint) => void;
  /** False if the thread has moved to another host. */
  canRerun: boolean;
  /** The form that answers the row's question. */
  foot?: ReactNode;
  /** Selects another row, such as an iteration of a loop. */
  onSelect?: (id: string) => void;
};

/** Everything about one row of a thread's trace. */
export function Detail(props: Props) {
  const { row, log, thread, onForkPoint, canRerun, foot, onSelect } = props;
  return (
    <article className="flex min-w-0 flex-col" aria-label={`Details of ${titleOf(row)}`}>
      <header className="flex flex-col gap-2 px-4 py-3">
        <div className="flex items-center gap-2">
          <RowState status={row.status} />
          <h2 className="min-w-0 text-title wrap-anywhere">{titleOf(row)}</h2>
          <span className="flex-none text-faint">{kinds[row.kind]}</span>
        </div>
        <Figures row={row} />
        <Actions
          row={row}
          log={log}
          thread={thread}
          onForkPoint={onForkPoint}
          canRerun={canRerun}
        />
      </header>
      {foot}
      <Body row={row} log={log} thread={thread} onSelect={onSelect} />
    </article>
  );
}

const kinds: Record<TraceRow["kind"], string> = {
  attempt: "",
  loop: "loop",
  iteration: "iteration",
  branch: "branch",
  thinking: "",
  text: "",
  tool: "tool call",
  question: "",
  answer: "",
  wait: "",
  pause: "",
  retry: "retry",
};

const titleOf = ({ name, kind, card }: TraceRow): string =>
  card?.step && (kind === "attempt" || kind === "question" || kind === "answer")
    ? roleName(card.step.role, card.step.meta)
    : roleName(name);

function Figures({ row }: { row: TraceRow }) {
  const { card, number, startedAt, endedAt } = row;
  const isRunning = row.status === "running";
  const now = useNow(1_000, isRunning);
  const end = endedAt ?? (isRunning ? now : null);
  const took = startedAt === null || end === null || end < startedAt ? null : end - startedAt;
  const tried = card && row.kind === "attempt" ? tryOf(card) : null;
  const answerer = card?.step?.role === "__input__" ? answererIn(card.step.meta) : null;
  const models = card ? (spendingOf(card)?.models ?? []) : [];
  const facts: Fact[] = [
    ["Step", number],
    ["Try", tried && (tried.of === null ? tried.number : `${tried.number} of ${tried.of}`)],
    ["By", answerer && answererText(answerer)],
    ["Took", took === null ? null : duration(took), startedAt === null ? "" : moment(startedAt)],
    ["Started", startedAt === null ? null : moment(startedAt)],
    ["Tokens", row.tokens > 0 ? tokens(row.tokens) : null],
    ["Cost", row.cost === null || row.cost === 0 ? null : cost(row.cost)],
    ["Model", models.join(", ") || null],
    ["Id", card && <IdOf key="id" id={card.attempt.attempt} />],
  ];
  return <Facts look="row" facts={facts} />;
}

const IdOf = ({ id }: { id: string }) => (
  <span className="inline-flex items-center gap-1">
    <code className="code" title={id}>
      {id.length > 12 ? `…${id.slice(-8)}` : id}
    </code>
    <Copy text={id} what="the id" />
  </span>
);

/** The point of a row at which a new thread may start; null for none. `isOver` means that its step can be kept. */
function pointOf(row: TraceRow, log: ThreadLog): { number: number; isOver: boolean } | null {
  const { card } = row;
  const number = card?.step?.number ?? row.number;
  if (number !== null && number !== undefined) return { number, isOver: true };
  const hasFailed = card !== null && log.end !== null && failedAmong(log.cards).includes(card);
  return hasFailed ? { number: log.steps.length + 1, isOver: false } : null;
}

function Actions({ row, log, onForkPoint, canRerun }: Omit<Props, "foot" | "onSelect">) {
  const point = pointOf(row, log);
  if (!point) return null;
  const { number, isOver } = point;
  return (
    <div className="flex flex-wrap gap-2">
      {isOver && (
        <Button
          icon={<GitFork />}
          title="Keep this step, change its values and continue after it"
          onClick={() => onForkPoint({ kind: "fork", number })}
        >
          Fork from here
        </Button>
      )}
      {canRerun && (
        <Button
          icon={<RotateCcw />}
          title="Run this step again in a new thread, with other values"
          onClick={() => onForkPoint({ kind: "rerun", number })}
        >
          Rerun from here
        </Button>
      )}
    </div>
  );
}

type BodyProps = Pick<Props, "row" | "log" | "thread" | "onSelect">;

function Body({ row, log, thread, onSelect }: BodyProps) {
  const { kind, card, turn } = row;
  if (turn?.kind === "tool") return <ToolDetail call={turn} />;
  if (turn) {
    return (
      <div className={`px-4 pb-4 ${turn.kind === "thinking" ? "text-muted italic" : ""}`}>
        <Prose
          text={turn.text}
          isGrowing={row.status === "running"}
          isMarkdown={turn.kind === "text"}
          isOpen
        />
      </div>
    );
  }
  if (kind === "loop" || kind === "iteration" || kind === "branch") {
    return <Parts row={row} log={log} onSelect={onSelect} />;
  }
  if (kind === "retry" && card) return <RetryOf row={row} card={card} />;
  if (!card) return <Pausing row={row} />;
  return <AttemptDetail row={row} card={card} log={log} thread={thread} />;
}

function RetryOf({ row, card }: { row: TraceRow; card: Card }) {
  const retry = card.attempt.retries.find(({ at }) => at === row.startedAt);
  if (!retry) return null;
  const { delayMs, error } = retry;
  return (
    <div className="flex flex-col gap-2 px-4 pb-4">
      <p className="text-red wrap-anywhere whitespace-pre-wrap">{error}</p>
      {delayMs !== null && <p className="text-muted">Tried again after {duration(delayMs)}.</p>}
    </div>
  );
}

function Pausing({ row }: { row: TraceRow }) {
  const now = useNow(1_000, row.endedAt === null);
  if (row.startedAt === null) return null;
  return (
    <p className="px-4 pb-4 text-muted">
      {row.kind === "pause" ? "Paused" : "Waited"} from {moment(row.startedAt)}
      {row.endedAt === null
        ? `, ${duration(now - row.startedAt)} so far.`
        : ` to ${moment(row.endedAt)}.`}
    </p>
  );
}

/** The end of a sleep; null for other rows. */
export function Asleep({ card }: { card: Card }) {
  const at = card.step && sleepsUntil(card.step);
  const now = useNow(1_000, at !== null && at > Date.now());
  if (at === null) return null;
  return (
    <p className="px-4 pb-3">
      Sleeps until <time dateTime={new Date(at).toISOString()}>{moment(at)}</time>{" "}
      <span className="text-muted" role="timer">
        ({until(at, now)})
      </span>
    </p>
  );
}
