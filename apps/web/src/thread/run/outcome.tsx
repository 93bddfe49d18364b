import type { Status } from "@uncaged/workflow-server/api-types";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { softOf, StatusIcon, stoppedText } from "../status/status.tsx";
import { isEnded } from "../../lib/threads.ts";
import { Prose } from "../../ui/prose.tsx";
import { Value } from "../../ui/value.tsx";
import { Position } from "../detail/thrown.tsx";
import { useThread } from "./thread-context.tsx";

const outOfRounds =
  "It reached its limit of rounds before it was done. Retry with more rounds continues it in a new thread.";

const reasons: Partial<Record<Status, string>> = {
  interrupted: "No worker runs this thread. Resume continues it after its last committed step.",
  corrupt: "Its log has an invalid line. The steps before that line are shown.",
  paused: "It is paused. Resume continues with the next step.",
};

const mostFolded = 600;

/** The outcome of the shown thread, or the reason of its stop. */
export function Outcome() {
  const { thread, status, rows } = useThread();
  const { result, failure, stepCount, movedTo } = thread;
  const hasRow = rows.some(({ failedAt }) => failedAt !== null);
  const [isWhole, setWhole] = useState(false);
  const end = isEnded(status) ? result : null;
  const isStopped = end?.reason === "maxRounds";
  const goesOn = end ? "" : " and continues there";
  const moved = movedTo === undefined ? undefined : `It has moved to ${movedTo}${goesOn}.`;
  const reason = moved ?? (isStopped ? outOfRounds : reasons[status]);
  const summary = isStopped || end?.value !== undefined ? "" : (end?.summary ?? "");
  if (!reason && summary === "" && end?.value === undefined && !failure) return null;
  const isLong = summary.length > 160 || summary.includes("\n") || end?.value !== undefined;
  const isPlain = status === "completed" && !isStopped;
  // On a wide screen the row with the error is beside the trace.
  const beside = hasRow && failure ? "xl:hidden" : "";
  return (
    <section
      aria-label="Outcome"
      className={`flex max-h-[40dvh] flex-none items-start gap-2 overflow-y-auto px-4 pb-2 ${isPlain ? "" : `pt-2 ${softOf(status)}`}`}
    >
      {!isPlain && (
        <span className="flex h-5 items-center">
          <StatusIcon status={status} />
        </span>
      )}
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        {isStopped && <p className="font-semibold">{stoppedText(stepCount)}</p>}
        {reason && <p>{reason}</p>}
        {failure && (
          <Link
            to="/threads/$id"
            params={{ id: thread.threadId }}
            search={{ step: failure.step }}
            className="font-semibold text-ink wrap-anywhere"
          >
            {failure.name}
            {typeof failure.role === "string" && ` in ${failure.role}`}, at step {failure.step}
          </Link>
        )}
        {summary !== "" && (
          <div className={beside}>
            {isLong && !isWhole ? (
              <p className="line-clamp-2 wrap-anywhere">{summary.slice(0, mostFolded)}</p>
            ) : (
              <Prose text={summary} isOpen />
            )}
          </div>
        )}
        {end?.value !== undefined && isWhole && <Value value={end.value} />}
        {end && failure?.at && !hasRow && <Position at={failure.at} />}
      </div>
      {isLong && (
        <button
          type="button"
          className={`min-h-6 flex-none cursor-pointer font-semibold hover:underline max-sm:min-h-10 ${beside}`}
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Less" : "Show the result"}
        </button>
      )}
    </section>
  );
}
