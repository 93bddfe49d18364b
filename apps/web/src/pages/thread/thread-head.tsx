import { Link } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { ChevronDown } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { StatusBadge } from "../../thread/status/status.tsx";
import { useFigures, useThread } from "../../thread/run/thread-context.tsx";
import { ago, cost, count, duration, moment, tokens } from "../../lib/format.ts";
import { subjectIn } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { About } from "./about.tsx";
import { Controls } from "./controls.tsx";

export function ThreadHead({ onAnswer }: { onAnswer: () => void }) {
  const { thread, status, isStopped, sleepingUntil } = useThread();
  const { workflow } = thread;
  const [isWhole, setWhole] = useState(false);
  const details = useId();
  return (
    <header className="flex flex-none flex-col gap-2 px-4 pt-4 pb-2 max-sm:gap-1 max-sm:pt-2 max-sm:pb-1">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <h1 className="line-clamp-2 flex-[1_1_12rem] max-sm:flex-[1_1_6rem] max-sm:text-title">
          {subjectIn(thread)}
        </h1>
        <Controls onAnswer={onAnswer} />
      </div>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2 max-sm:gap-x-3 max-sm:gap-y-0">
        <StatusBadge
          status={status}
          sleepingUntil={sleepingUntil}
          stoppedAt={isStopped ? thread.stepCount : null}
          large
        />
        <Link
          to="/workflows/$name"
          params={{ name: workflow }}
          className="wrap-anywhere max-sm:flex-1"
        >
          {workflow}
        </Link>
        <Figures thread={thread} />
        <Button
          look="quiet"
          small
          icon={<ChevronDown className={isWhole ? "rotate-180" : ""} />}
          aria-expanded={isWhole}
          aria-controls={isWhole ? details : undefined}
          onClick={() => setWhole(!isWhole)}
        >
          Details
        </Button>
      </div>
      <p role="status" className="sr-only">
        The thread is {isStopped ? "stopped" : sleepingUntil === null ? status : "sleeping"}.
      </p>
      {isWhole && (
        <section
          id={details}
          aria-label="Details"
          className="max-h-[60dvh] overflow-y-auto border-t py-3"
        >
          <About thread={thread} />
        </section>
      )}
    </header>
  );
}

function Figures({ thread: { createdAt, maxRounds, limits = {} } }: { thread: Thread }) {
  const { now, workedMs, waitedMs, steps, spent } = useFigures();
  const noPrice = spent.unpriced > 0 ? `${spent.unpriced} steps have no known price` : "";
  const of = (
    value: number,
    most: number | undefined,
    as: (value: number) => string,
    what: string,
    more = "",
  ) => (
    <Used value={value} most={most}>
      {as(value)}
      {more}
      <span className="font-normal text-muted">
        {most ? ` of ${as(most)} ${what}` : ` ${what}`}
      </span>
    </Used>
  );
  return (
    <Facts
      look="line"
      // On a phone, the figures are below, and the start is in the details.
      className="max-sm:order-last max-sm:basis-full max-sm:gap-x-3 max-sm:text-small max-sm:[&>div:last-child]:hidden"
      facts={[
        ["worked", duration(workedMs)],
        ["waited", waitedMs > 0 ? duration(waitedMs) : null],
        ["", spent.tokens > 0 ? of(spent.tokens, limits.maxTokens, tokens, "tokens") : null],
        [
          "",
          spent.tokens > 0 ? of(spent.cost, limits.maxCost, cost, "cost", noPrice && "+") : null,
          noPrice,
        ],
        ["", of(steps, maxRounds, count, "steps"), `Stops at ${count(maxRounds)} steps`],
        ["started", ago(createdAt, now), moment(createdAt)],
      ]}
    />
  );
}

type UsedProps = { value: number; most: number | undefined; children: ReactNode };

/** An amount with a bar of its share of a limit, if there is one. */
function Used({ value, most, children }: UsedProps) {
  if (most === undefined) return <span className="inline-flex gap-1">{children}</span>;
  const share = Math.min(1, value / most);
  const ink = share >= 0.9 ? "bg-amber" : "bg-solid";
  return (
    <span className="inline-flex items-center gap-1">
      {children}
      <span
        aria-hidden
        className="ml-1 h-1 w-12 max-sm:w-6 overflow-hidden rounded-sm bg-line-strong"
      >
        <span className={`block h-full ${ink}`} style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}
