import { answererIn, answererText } from "@uncaged/workflow/records";
import { GitFork, RotateCcw } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { cost, duration, moment, roleName, tokens, useNow } from "../../lib/format.ts";
import { type Card, durationOf } from "../../lib/thread-log.ts";
import { type ForkPoint, isLive } from "../../lib/threads.ts";
import { Button, Copy } from "../../ui/button.tsx";
import { Prose } from "../../ui/prose.tsx";
import type { TraceRow } from "../trace/rows.ts";
import { useFollowedEnd } from "../follow.ts";
import { RowFoot } from "../question/question.tsx";
import { useThread } from "../run/thread-context.tsx";
import { pointOf } from "../fork/fork.ts";
import { AttemptDetail } from "./attempt-detail.tsx";
import { ToolDetail } from "./conversation.tsx";
import { tryOf, spendingOf } from "./parts.ts";
import { RowState } from "../../ui/states.tsx";

type Props = {
  row: TraceRow;
  /** Number of requests to answer the row's question. */
  asked?: number;
};

/** The details of one row of a thread's trace. */
export function Detail({ row, asked = 0 }: Props) {
  const title = titleOf(row);
  const article = useRef<HTMLElement>(null);
  const { status } = useThread();
  // Until its log has arrived, an ended thread has running rows.
  useFollowedEnd(article, row.status === "running" && isLive(status));
  return (
    <article ref={article} className="flex min-w-0 flex-col" aria-label={`Details of ${title}`}>
      <header className="flex flex-col gap-1 px-4 py-3">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <div className="flex min-w-40 flex-1 items-baseline gap-2">
            <span className="self-center">
              <RowState status={row.status} />
            </span>
            <h2 className="min-w-0 text-title wrap-anywhere">{title}</h2>
            {kinds[row.kind] !== undefined && (
              <span className="flex-none text-faint">{kinds[row.kind]}</span>
            )}
          </div>
          <Actions row={row} />
        </div>
        <Figures row={row} />
      </header>
      <RowFoot row={row} asked={asked} />
      <Body row={row} />
    </article>
  );
}

const kinds: Partial<Record<TraceRow["kind"], string>> = {
  loop: "loop",
  iteration: "iteration",
  branch: "branch",
  tool: "tool call",
  retry: "retry",
};

function titleOf({ name, kind, card }: TraceRow): string {
  if (kind === "text") return "Response";
  if (kind === "thinking") return "Thinking";
  if (kind === "retry") return "Tried again";
  if (card?.step && (kind === "question" || kind === "answer"))
    return roleName(card.step.role, card.step.meta);
  return name;
}

function Figures({ row }: { row: TraceRow }) {
  const { card, startedAt } = row;
  const number = row.number ?? row.failedAt;
  const isRunning = row.status === "running";
  const now = useNow(1_000, isRunning);
  const took = durationOf(row, isRunning ? now : null);
  const tried = card && row.kind === "attempt" ? tryOf(card) : null;
  const answerer = card?.step?.role === "__input__" ? answererIn(card.step.meta) : null;
  const models = card ? (spendingOf(card)?.models ?? []) : [];
  const facts: [text: string | null, title?: string][] = [
    [number === null ? null : `Step ${number}`],
    [tried && (tried.of === null ? `try ${tried.number}` : `try ${tried.number} of ${tried.of}`)],
    [answerer && `by ${answererText(answerer)}`],
    [took === null ? null : duration(took), startedAt === null ? "" : moment(startedAt)],
    [row.tokens > 0 ? `${tokens(row.tokens)} tokens` : null],
    [row.cost === null || row.cost === 0 ? null : cost(row.cost)],
    [row.turn === null ? models.join(", ") || null : null],
    [startedAt === null ? null : moment(startedAt)],
  ];
  return (
    <p className="flex flex-wrap items-center gap-x-3 text-small text-muted">
      {facts.map(([text, title], at) =>
        text === null ? null : (
          <span key={at} title={title}>
            {text}
          </span>
        ),
      )}
      {card && (
        <span className="inline-flex items-center">
          <code title={card.attempt.attempt}>{shortOf(card.attempt.attempt)}</code>
          <Copy text={card.attempt.attempt} what="the id" />
        </span>
      )}
    </p>
  );
}

const shortOf = (id: string): string => (id.length > 12 ? `…${id.slice(-8)}` : id);

function Actions({ row }: { row: TraceRow }) {
  const { thread, fork } = useThread();
  const button = (kind: ForkPoint["kind"], icon: ReactNode, label: string, title: string) => {
    const point = pointOf(row, kind, thread);
    return (
      point && (
        <Button
          className="max-sm:flex-1 max-sm:px-2"
          icon={icon}
          title={title}
          onClick={() => fork(point)}
        >
          {label}
        </Button>
      )
    );
  };
  return (
    <div className="flex flex-wrap gap-2 empty:hidden max-sm:w-full">
      {button(
        "fork",
        <GitFork />,
        "Fork from here",
        "Keep this step, change its values and continue after it (f)",
      )}
      {button(
        "rerun",
        <RotateCcw />,
        "Rerun from here",
        "Run this step again in a new thread, with other values (r)",
      )}
    </div>
  );
}

function Body({ row }: { row: TraceRow }) {
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
  if (kind === "retry" && card) return <RetryOf row={row} card={card} />;
  if (card?.attempt.attempt === row.id) return <AttemptDetail row={row} card={card} />;
  return kind === "pause" || kind === "wait" ? <Pausing row={row} /> : null;
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
