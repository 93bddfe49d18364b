import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { PlanRow } from "@uncaged/workflow-server/api-types";
import { ClipboardList, Sparkles } from "lucide-react";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { triggerWords } from "../../kinds/plan/trigger.ts";
import { ago, counted, moment, until, useNow } from "../../lib/format.ts";
import { plansQuery } from "../../lib/plans.ts";
import { ButtonLink, Command } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Page, useKeys, useTitle } from "../../ui/page.tsx";
import { RowLink, RowList } from "../../ui/row-list.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { NotFiring } from "../../kinds/plan/plan-facts.tsx";

export function PlansPage() {
  useTitle("Plans");
  const navigate = useNavigate();
  useKeys({ n: () => void navigate({ to: "/plans/new" }) });
  const query = useQuery(plansQuery);
  return (
    <Page
      title="Plans"
      actions={
        <ButtonLink to="/plans/new" look="solid" icon={<Sparkles />}>
          New plan
        </ButtonLink>
      }
    >
      <Loaded query={query}>
        {(plans) => (plans.length > 0 ? <PlanList plans={plans} /> : <None />)}
      </Loaded>
    </Page>
  );
}

function None() {
  return (
    <Empty icon={<ClipboardList />} title="No plan yet">
      <p>
        A plan is a list of steps for agents, made from a request. It runs once or by a trigger.
        Create one here, or in a terminal:
      </p>
      <Command>{'uncaged-workflow plan new "every weekday at nine, …"'}</Command>
      <ButtonLink to="/plans/new" look="solid">
        Make a plan
      </ButtonLink>
    </Empty>
  );
}

function PlanList({ plans }: { plans: readonly PlanRow[] }) {
  const now = useNow(1_000);
  const names = new Map(plans.map(({ id, name }) => [id, name]));
  const idle = plans.filter(({ fires }) => fires === false).length;
  return (
    <>
      {idle > 0 && <NotFiring what={`The trigger of ${counted(idle, "plan")}`} />}
      <Decisions
        wanted={plans.flatMap(({ wanted }) => wanted)}
        nameOf={(id) => (
          <Link to="/plans/$id" params={{ id }} className="underline">
            {names.get(id)}
          </Link>
        )}
      />
      <RowList
        label="Plans"
        rows={plans}
        keyOf={({ id }) => id}
        layout={layout}
        search={{
          label: "Search by name or trigger",
          textOf: ({ name, description, id, trigger }) =>
            `${name} ${description} ${id} ${triggerWords(trigger)}`,
          fields: "name, description, trigger or id",
        }}
      >
        {(plan) => <Row plan={plan} now={now} />}
      </RowList>
    </>
  );
}

const layout =
  "grid grid-cols-[minmax(0,1fr)_9rem_auto] items-center gap-5 max-lg:grid-cols-[minmax(0,1fr)_auto] max-lg:gap-x-3 max-lg:gap-y-2";

function Row({ plan, now }: { plan: PlanRow; now: number }) {
  const { id, name, phase, trigger, fires } = plan;
  return (
    <>
      <div className="min-w-0">
        <RowLink to="/plans/$id" params={{ id }}>
          {name}
        </RowLink>
        <p className="truncate text-muted">
          {fires === false && <span className="font-semibold text-red">Does not fire · </span>}
          {triggerWords(trigger)}
        </p>
      </div>
      <div>
        <PlanBadge state={phase} />
      </div>
      <Facts
        look="columns"
        className="max-lg:col-span-full max-lg:row-start-2"
        facts={[
          factOf("Last fire", plan.last_fire_at, (at) => ago(at, now)),
          factOf("Next fire", fires === false ? null : plan.next_fire_at, (at) => until(at, now)),
          lastRunFact(plan, now),
        ]}
      />
    </>
  );
}

/** A fact with a moment, and the full date as its tooltip. */
function factOf(label: string, at: string | null, words: (at: number) => string): Fact {
  return at === null ? [label, "–"] : [label, words(Date.parse(at)), moment(Date.parse(at))];
}

function lastRunFact({ last_run: run }: PlanRow, now: number): Fact {
  if (run === null) return ["Last run", "–"];
  const at = Date.parse(run.completed_at ?? run.started_at);
  return [
    "Last run",
    <span key="run" className="inline-flex flex-wrap items-center gap-1">
      <PlanBadge state={run.status} isCancelled={run.cancelled} /> {ago(at, now)}
    </span>,
    moment(at),
  ];
}
