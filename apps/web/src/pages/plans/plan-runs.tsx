import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { ago, duration, moment, useNow } from "../../lib/format.ts";
import { type PlanRun, threadOfRun } from "../../lib/plans.ts";
import { Button } from "../../ui/button.tsx";
import { Prose } from "../../ui/prose.tsx";

const atOnce = 20;

type Props = {
  runs: readonly PlanRun[];
  /** The run that the graph shows. */
  shown: PlanRun | null;
  onShow: (run: PlanRun) => void;
};

/** The runs of a plan, newest first. A press on a run shows its steps. */
export function Runs({ runs, shown, onShow }: Props) {
  const [most, setMost] = useState(atOnce);
  return (
    <>
      <ol className="divide-y">
        {runs.slice(0, most).map((run) => (
          <Run key={run.id} run={run} isShown={run === shown} onShow={() => onShow(run)} />
        ))}
      </ol>
      {runs.length > most && (
        <Button small className="self-start" onClick={() => setMost(most + atOnce)}>
          Show more ({runs.length - most} left)
        </Button>
      )}
    </>
  );
}

type RunProps = { run: PlanRun; isShown: boolean; onShow: () => void };

function Run({ run, isShown, onShow }: RunProps) {
  const { id, status, started_at, duration_ms, error, cancelled, trigger_data } = run;
  const now = useNow(1_000, status === "running");
  const started = Date.parse(started_at);
  const took = duration_ms ?? (status === "running" ? now - started : null);
  return (
    <li className="flex flex-col gap-1 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button
          look="quiet"
          className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
          aria-pressed={isShown}
          title="Show its steps"
          onClick={onShow}
        >
          Run of {moment(started)}
        </Button>
        <PlanBadge state={status} isCancelled={cancelled} />
        <span className="text-small text-muted">
          {[ago(started, now), took !== null && duration(took)].filter(Boolean).join(", ")}
        </span>
        <Link to="/threads/$id" params={{ id: threadOfRun(id) }} className="ml-auto">
          Its thread
        </Link>
      </div>
      {error && <Prose text={error} />}
      {trigger_data && (
        <div className="text-muted">
          <Prose text={trigger_data} />
        </div>
      )}
    </li>
  );
}
