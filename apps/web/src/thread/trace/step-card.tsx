import {
  answererIn,
  answererText,
  type Attempt,
  type Path,
  sleepsUntil,
} from "@uncaged/workflow/records";
import {
  AlarmClock,
  CircleCheck,
  CircleSlash,
  CircleX,
  GitBranch,
  GitFork,
  LoaderCircle,
  type LucideIcon,
  MessageCircleQuestion,
  MessageSquareReply,
  Moon,
  RotateCcw,
  SkipForward,
  Unplug,
} from "lucide-react";
import { memo, type ReactNode } from "react";
import { duration, moment, roleName, tokens, useNow } from "../../lib/format.ts";
import { type Card, durationOf, nameOf } from "../../lib/thread-log.ts";
import type { ForkPoint } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { Pill } from "../../ui/states.tsx";
import { CardBody } from "./card-body.tsx";
import { spendingOf, tryOf } from "../detail/parts.ts";

type Props = {
  card: Card;
  /** The version of the attempt, so that the card redraws when it changes. */
  version: number;
  state: CardState;
  onForkPoint: (point: ForkPoint) => void;
  /** False if the thread has moved to another host. */
  canRerun: boolean;
  /** The step number of the card if the thread failed at it; null otherwise. */
  failedNumber: number | null;
  foot?: ReactNode;
};

export const StepCard = memo(function StepCard(props: Props) {
  const { card, state, onForkPoint, canRerun, failedNumber, foot } = props;
  const { step, attempt } = card;
  const role = step?.role ?? nameOf(attempt) ?? (failedNumber ? `Step ${failedNumber}` : "unnamed");
  const name = roleName(role, step?.meta);
  const title = attempt.title !== role ? attempt.title : null;
  const type = attempt.input?.type;
  const spending = spendingOf(card);
  const tried = tryOf(card);
  const number = step?.number;
  const answerer = step?.role === "__input__" ? answererIn(step.meta) : null;
  const { icon: Icon, word, label, ink } = states[state];
  return (
    <article
      className={`panel scroll-mt-28 overflow-clip outline-offset-1 ${looks[state] ?? "shadow-sm"} ${foot ? footLook(state) : ""}`}
      aria-label={`${number ? `Step ${number}` : label}: ${name}`}
      tabIndex={-1}
    >
      <header className="flex min-h-10 items-center gap-2 py-1 pr-2 pl-4">
        <span className={`flex ${ink}`} title={word}>
          <Icon />
          <span className="sr-only">{word}</span>
        </span>
        <h3 className="flex min-w-16 flex-[0_1_auto] items-baseline gap-2 truncate">
          {number !== undefined && <span className="code font-normal text-faint">{number}</span>}
          {name}
          {title && <span className="truncate font-normal text-muted max-sm:hidden">{title}</span>}
        </h3>
        {typeof type === "string" && type !== "Role" && <Tag>{type}</Tag>}
        {iterationsIn(attempt.path).map((iteration) => (
          <Tag key={iteration}>{iteration}</Tag>
        ))}
        {tried && (
          <Tag>
            {tried.of === null ? `try ${tried.number}` : `try ${tried.number} of ${tried.of}`}
          </Tag>
        )}
        {state === "copied" && <Tag>copied</Tag>}
        {answerer && <Tag>{`by ${answererText(answerer)}`}</Tag>}
        <span className="flex flex-1 justify-end gap-4 text-small whitespace-nowrap text-faint">
          {spending && spending.total > 0 && (
            <span className="max-sm:not-last:hidden">{tokens(spending.total)} tokens</span>
          )}
          <CardTime attempt={attempt} isRunning={state === "running"} />
        </span>
        {number !== undefined && (
          <span className="flex">
            <Button
              look="quiet"
              small
              icon={<GitFork />}
              aria-label={`Fork from here, after step ${number}`}
              title="Fork from here: keep this step and continue after it"
              onClick={() => onForkPoint({ kind: "fork", number })}
            />
            {canRerun && (
              <Button
                look="quiet"
                small
                icon={<RotateCcw />}
                aria-label={`Rerun from here, step ${number}`}
                title="Rerun from here: run this step again"
                onClick={() => onForkPoint({ kind: "rerun", number })}
              />
            )}
          </span>
        )}
      </header>
      <CardBody card={card} isRunning={state === "running"} />
      {failedNumber !== null && canRerun && (
        <div className="px-4 pb-3">
          <Button
            small
            icon={<RotateCcw />}
            onClick={() => onForkPoint({ kind: "rerun", number: failedNumber })}
          >
            Rerun from here…
          </Button>
        </div>
      )}
      {foot}
    </article>
  );
});

const footLook = (state: CardState): string =>
  state === "sleep" ? "border-violet/55" : "border-amber/55";

/** Borders of cards by state. */
const looks: Partial<Record<CardState, string>> = {
  running: "border-blue/55 shadow-sm",
  failed: "border-red/55 shadow-sm",
  copied: "bg-sunken",
};

const Tag = ({ children }: { children: ReactNode }) => (
  <Pill className="max-w-48 truncate max-sm:hidden">{children}</Pill>
);

/** The iterations around an attempt, outermost first: `Loop_A #2`. */
const iterationsIn = (path: Path): string[] =>
  path.flatMap((part) =>
    "iteration" in part && part.iteration !== undefined ? `${part.in} #${part.iteration + 1}` : [],
  );

function CardTime({ attempt, isRunning }: { attempt: Attempt; isRunning: boolean }) {
  const now = useNow(100, isRunning);
  const { startedAt, endedAt } = attempt;
  const took = durationOf(attempt, isRunning ? now : null);
  if (took === null || startedAt === null || (took === 0 && endedAt !== null)) return null;
  return <span title={moment(endedAt ?? startedAt)}>{duration(took)}</span>;
}

/** The state of a card. `copied`: the thread that this thread was forked from has committed the step. */
type CardState =
  | "done"
  | "running"
  | "failed"
  | "skipped"
  | "cancelled"
  | "lost"
  | "parked"
  | "question"
  | "sleep"
  | "over"
  | "answer"
  | "rerun"
  | "copied";

/** The icon, words and colour of each state. `label` is the heading of a card without a step. */
const states: Record<CardState, { icon: LucideIcon; word: string; label: string; ink: string }> = {
  done: { icon: CircleCheck, word: "done", label: "Done", ink: "text-green" },
  running: { icon: LoaderCircle, word: "running", label: "Running", ink: "text-blue" },
  failed: { icon: CircleX, word: "failed", label: "Failed", ink: "text-red" },
  skipped: { icon: SkipForward, word: "skipped", label: "Skipped", ink: "text-faint" },
  cancelled: { icon: CircleSlash, word: "cancelled", label: "Cancelled", ink: "text-faint" },
  lost: { icon: Unplug, word: "lost with its worker", label: "Lost", ink: "text-faint" },
  parked: { icon: MessageCircleQuestion, word: "asked", label: "Asked", ink: "text-faint" },
  question: { icon: MessageCircleQuestion, word: "question", label: "Question", ink: "text-amber" },
  sleep: { icon: Moon, word: "sleep", label: "Sleep", ink: "text-violet" },
  over: { icon: AlarmClock, word: "the time is up", label: "Time is up", ink: "text-violet" },
  answer: { icon: MessageSquareReply, word: "answer", label: "Answer", ink: "text-amber" },
  rerun: { icon: RotateCcw, word: "run again from here", label: "Rerun", ink: "text-amber" },
  copied: { icon: GitBranch, word: "copied by the fork", label: "Copied", ink: "text-faint" },
};

function inputState(meta: Readonly<Record<string, unknown>>): CardState {
  if (meta.timedOut === true) return "over";
  return meta.for === "rerun" ? "rerun" : "answer";
}

/** The state of a card. A running attempt without a worker is lost. */
export function stateOf({ attempt, step }: Card, isDriven: boolean): CardState {
  if (step && sleepsUntil(step) !== null) return "sleep";
  if (step?.role === "__wait__") return "question";
  if (step?.role === "__input__") return inputState(step.meta);
  if (attempt.saved) return "copied";
  if (attempt.status === "running") return isDriven ? "running" : "lost";
  return attempt.status === "committed" ? "done" : attempt.status;
}
