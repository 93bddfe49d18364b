import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { CircleAlert } from "lucide-react";
import { Confirmation } from "../../kinds/plan/confirmation.tsx";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { PlannerChat } from "../../kinds/plan/planner-chat.tsx";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { SandboxFacts } from "../../kinds/plan/sandbox-facts.tsx";
import { moment, until, useNow } from "../../lib/format.ts";
import { planQuery } from "../../lib/plans.ts";
import { pathOf } from "../../lib/request.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { canBeChanged, PlanSteps } from "./plan-definition.tsx";
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
  const { phase, draft, fires, runs, wanted, id } = plan;
  const isOpen = phase === "awaiting_confirmation" || draft !== null;
  return (
    <>
      {fires === false && <NotFiring />}
      <Decisions wanted={wanted} />
      {isOpen && <Confirmation plan={plan} />}
      <PlanSteps plan={plan} />
      <Trigger plan={plan} />
      <Panel aria-label="Runs">
        <h2>Runs</h2>
        {runs.length > 0 ? (
          <Runs runs={runs} />
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
            session={session}
            onSession={(one) => void navigate({ search: { session: one }, replace: true })}
          />
        </Panel>
      )}
    </>
  );
}

/** Warns that the trigger of a confirmed plan does not fire. */
function NotFiring() {
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded-md border border-red/35 bg-red-soft px-4 py-3"
    >
      <CircleAlert className="mt-[2px] text-red" />
      <div className="flex min-w-0 flex-1 flex-col gap-1 wrap-anywhere">
        <p className="font-semibold">
          The trigger of this plan does not fire: no service is running.
        </p>
        <p className="text-muted">
          Run <code>uncaged-workflow plan service run</code>, or start the console with{" "}
          <code>uncaged-workflow serve</code>.
        </p>
      </div>
    </div>
  );
}

/** The trigger, the requirements and sandbox of the steps, and the failure policy. */
function Trigger({ plan }: { plan: PlanView }) {
  const { preview, trigger, trigger_state: state, next_fire_at: next, failure_policy } = plan;
  const now = useNow(1_000, next !== null);
  const at = (iso: string | null | undefined) => (iso ? moment(Date.parse(iso)) : null);
  const bundle = plan.metadata?.bundle as { name?: unknown } | undefined;
  const name = typeof bundle?.name === "string" ? bundle.name : null;
  const facts: Fact[] = [
    ["Trigger", preview.trigger],
    ["Last fire", trigger.type === "manual" ? null : (at(state?.last_fire_at) ?? "never")],
    ["Last check", trigger.type === "poll" ? (at(state?.last_check_at) ?? "never") : null],
    ["Next fire", next && `${moment(Date.parse(next))}, ${until(Date.parse(next), now)}`],
    ["Error of its check", state?.last_error ?? null],
    ["When a step fails", failureText(failure_policy)],
    ["Sandbox", <SandboxFacts key="sandbox" facts={preview.sandboxFacts} />],
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
    <Panel aria-label="Trigger and settings">
      <h2>Trigger and settings</h2>
      <Facts look="list" facts={facts} />
    </Panel>
  );
}

const policies: Record<PlanView["failure_policy"]["on_step_failure"], string> = {
  stop: "the run ends",
  skip_dependents: "dependent steps are skipped",
  ask_user: "you are asked",
};

function failureText({ on_step_failure, max_retries }: PlanView["failure_policy"]): string {
  const end = policies[on_step_failure];
  if (max_retries === 0) return end;
  return `${max_retries} more ${max_retries === 1 ? "attempt" : "attempts"}, then ${end}`;
}
