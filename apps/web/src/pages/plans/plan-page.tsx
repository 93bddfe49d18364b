import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { Confirmation } from "../../kinds/plan/confirmation.tsx";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { failureWords } from "../../kinds/plan/definition.ts";
import { PlannerChat } from "../../kinds/plan/planner-chat.tsx";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { SandboxFacts } from "../../kinds/plan/sandbox-facts.tsx";
import { triggerFacts } from "../../kinds/plan/trigger-facts.tsx";
import { moment, until, useNow } from "../../lib/format.ts";
import { planQuery } from "../../lib/plans.ts";
import { pathOf } from "../../lib/request.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { canBeChanged, PlanSteps } from "./plan-definition.tsx";
import { NotFiring } from "./not-firing.tsx";
import { PlanControls } from "./plan-controls.tsx";
import { Runs } from "./plan-runs.tsx";

export function PlanPage() {
  const { id } = useParams({ from: "/plans/$id" });
  const query = useQuery(planQuery(id));
  const { data: plan } = query;
  useTitle(plan?.name ?? "Plan");
  return (
    <Page
      title={
        plan ? (
          <span className="inline-flex flex-wrap items-center gap-2">
            {plan.name} <PlanBadge state={plan.phase} />
          </span>
        ) : (
          "Plan"
        )
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
  const { session = null } = useSearch({ from: "/plans/$id" });
  const navigate = useNavigate({ from: "/plans/$id" });
  const { phase, draft, runs, wanted, id } = plan;
  const [chosen, choose] = useState<string | null>(null);
  const shown = runs.find((run) => run.id === chosen) ?? runs[0] ?? null;
  const isOpen = phase === "awaiting_confirmation" || draft !== null;
  return (
    <>
      <Decisions wanted={wanted} />
      {isOpen && <Confirmation plan={plan} />}
      {phase !== "awaiting_confirmation" && <Trigger plan={plan} />}
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
      <Settings plan={plan} />
      {canBeChanged(plan) && (
        <Panel aria-label="Change">
          <h2>Change</h2>
          <PlannerChat
            path={pathOf("plans", id, "modify")}
            label="What should change?"
            hint="The planner changes the plan. Changes take effect when you confirm them."
            action="Change it"
            session={session}
            onSession={(one) => void navigate({ search: { session: one }, replace: true })}
          />
        </Panel>
      )}
    </>
  );
}

/** The trigger in words, its next times, and whether a service fires it. */
function Trigger({ plan }: { plan: PlanView }) {
  const { preview, trigger, trigger_state: state, next_fire_at: next, fires, draft } = plan;
  const now = useNow(1_000, next !== null);
  const at = (iso: string | null | undefined) => (iso ? moment(Date.parse(iso)) : null);
  // For a plan with a change, the preview shows the change.
  const slots = next === null ? [] : draft ? [next] : preview.nextFires;
  const isPoll = trigger.type === "poll";
  return (
    <Panel aria-label="Trigger">
      <h2>Trigger</h2>
      {fires === false && <NotFiring what="The trigger of this plan" />}
      <Facts
        look="list"
        facts={[
          ...triggerFacts(plan, slots),
          ["Next fire", next && fires !== false ? until(Date.parse(next), now) : null],
          ["Last fire", trigger.type === "manual" ? null : (at(state?.last_fire_at) ?? "never")],
          ["Last check", isPoll ? (at(state?.last_check_at) ?? "never") : null],
          ["Error of its check", state?.last_error ?? null],
        ]}
      />
    </Panel>
  );
}

/** The sandbox of the steps, and the reaction to failures. */
function Settings({ plan }: { plan: PlanView }) {
  const bundle = plan.metadata?.bundle as { name?: unknown } | undefined;
  const name = typeof bundle?.name === "string" ? bundle.name : null;
  const facts: Fact[] = [
    ["When a step fails", failureWords(plan.failure_policy)],
    ["Sandbox", <SandboxFacts key="sandbox" facts={plan.preview.sandboxFacts} />],
    ["Folder", typeof plan.metadata?.cwd === "string" ? plan.metadata.cwd : null],
    [
      "Workflow",
      name && (
        <Link to="/workflows/$name" params={{ name }}>
          {name}
        </Link>
      ),
    ],
    ["Id", <code key="id">{plan.id}</code>],
  ];
  return (
    <Panel aria-label="Settings">
      <h2>Settings</h2>
      <Facts look="list" facts={facts} />
    </Panel>
  );
}
