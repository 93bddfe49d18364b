import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { Confirmation } from "../../kinds/plan/confirmation.tsx";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { NotFiring, planFacts } from "../../kinds/plan/plan-facts.tsx";
import { PlannerChat } from "../../kinds/plan/planner-chat.tsx";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { ago, duration, moment, until, useNow } from "../../lib/format.ts";
import { planQuery, type PlanRun } from "../../lib/plans.ts";
import { pathOf } from "../../lib/request.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { canBeChanged, PlanSteps } from "./plan-definition.tsx";
import { PlanControls } from "./plan-controls.tsx";
import { Button } from "../../ui/button.tsx";
import { More } from "../../ui/more.tsx";
import { Prose } from "../../ui/prose.tsx";

export function PlanPage() {
  const { id } = useParams({ from: "/plans/$id" });
  const query = useQuery(planQuery(id));
  const { data: plan } = query;
  useTitle(plan?.name ?? "Plan");
  return (
    <Page
      title={
        <span className="inline-flex flex-wrap items-center gap-2">
          {plan?.name ?? "Plan"} {plan && <PlanBadge state={plan.phase} />}
        </span>
      }
      note={plan?.description}
      actions={plan && <PlanControls plan={plan} />}
    >
      <Loaded query={query} lines={9}>
        {(read) => <OnePlan plan={read} />}
      </Loaded>
    </Page>
  );
}

function OnePlan({ plan }: { plan: PlanView }) {
  const { phase, draft, runs, wanted, id } = plan;
  const [chosen, choose] = useState<string | null>(null);
  const shown = runs.find((run) => run.id === chosen) ?? runs[0] ?? null;
  const isOpen = phase === "awaiting_confirmation" || draft !== null;
  return (
    <>
      <Decisions wanted={wanted} />
      {isOpen && <Confirmation plan={plan} />}
      {phase !== "awaiting_confirmation" && <Settings plan={plan} />}
      <PlanSteps plan={plan} run={draft ? null : shown} />
      <Panel aria-label="Runs">
        <h2>Runs</h2>
        {runs.length > 0 ? (
          <Runs runs={runs} shown={shown} onShow={(run) => choose(run.id)} />
        ) : (
          <Empty title="No run yet">
            <p>{phase === "active" ? "Its trigger starts them." : "Confirm the plan first."}</p>
          </Empty>
        )}
      </Panel>
      {canBeChanged(plan) && (
        <Panel aria-label="Change">
          <h2>Change</h2>
          <PlannerChat
            path={pathOf("plans", id, "modify")}
            label="What should change?"
            hint="The planner changes the plan. Changes take effect when you confirm them."
            action="Change it"
          />
        </Panel>
      )}
    </>
  );
}

/** The settings of a plan, its next times, and whether a service fires its trigger. */
function Settings({ plan }: { plan: PlanView }) {
  const { id, preview, trigger, trigger_state: state, next_fire_at: next, fires, draft } = plan;
  const now = useNow(1_000, next !== null);
  const at = (iso: string | null | undefined) => (iso ? moment(Date.parse(iso)) : null);
  // For a plan with a change, the preview shows the change.
  const slots = next === null ? [] : draft ? [next] : preview.nextFires;
  const isPoll = trigger.type === "poll";
  const bundle = plan.metadata?.bundle as { name?: unknown } | undefined;
  const name = typeof bundle?.name === "string" ? bundle.name : null;
  const facts: Fact[] = [
    ...planFacts(plan, slots, preview.sandboxFacts),
    ["Next fire", next && fires !== false ? until(Date.parse(next), now) : null],
    ["Last fire", trigger.type === "manual" ? null : (at(state?.last_fire_at) ?? "never")],
    ["Last check", isPoll ? (at(state?.last_check_at) ?? "never") : null],
    ["Error of its check", state?.last_error ?? null],
    [
      "Workflow",
      name && (
        <Link to="/workflows/$name" params={{ name }}>
          {name}
        </Link>
      ),
    ],
    ["Id", <code key="id">{id}</code>],
  ];
  return (
    <Panel aria-label="Settings">
      <h2>Settings</h2>
      {fires === false && <NotFiring what="The trigger of this plan" />}
      <Facts look="list" facts={facts} />
    </Panel>
  );
}

const atOnce = 20;

type Props = {
  runs: readonly PlanRun[];
  /** The run that the graph shows. */
  shown: PlanRun | null;
  onShow: (run: PlanRun) => void;
};

/** The runs of a plan, newest first. A press on a run shows its steps. */
function Runs({ runs, shown, onShow }: Props) {
  return (
    <More of={runs} atOnce={atOnce} label={(left) => `Show more (${left} left)`}>
      {(some) => (
        <ol className="divide-y">
          {some.map((run) => (
            <Run key={run.id} run={run} isShown={run === shown} onShow={() => onShow(run)} />
          ))}
        </ol>
      )}
    </More>
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
        <Link to="/threads/$id" params={{ id: id.replace(/^run_/, "") }} className="ml-auto">
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
