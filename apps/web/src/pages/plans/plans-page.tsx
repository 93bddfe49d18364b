import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { PlanRow } from "@uncaged/workflow-server/api-types";
import { ClipboardList, Sparkles } from "lucide-react";
import { useRef, useState } from "react";
import { Decisions } from "../../kinds/plan/decisions.tsx";
import { PlanBadge } from "../../kinds/plan/plan-badge.tsx";
import { triggerWords } from "../../kinds/plan/trigger.ts";
import { ago, count, counted, moment, until, useNow } from "../../lib/format.ts";
import { plansQuery } from "../../lib/plans.ts";
import { Button, ButtonLink, Command } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Page, useKeys, useListKeys, useTitle } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { NotFiring } from "./not-firing.tsx";

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

const atOnce = 100;

const textOf = ({ name, description, id, trigger }: PlanRow): string =>
  `${name} ${description} ${id} ${triggerWords(trigger)}`.toLowerCase();

function PlanList({ plans }: { plans: readonly PlanRow[] }) {
  const [text, setText] = useState("");
  const [most, setMost] = useState(atOnce);
  const list = useRef<HTMLUListElement>(null);
  const now = useNow(1_000);
  const words = text.trim().toLowerCase();
  const found = plans.filter((plan) => textOf(plan).includes(words));
  const rows = found.slice(0, most);
  useListKeys({ list, target: "a", length: rows.length });
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
      <search>
        <SearchField label="Search by name or trigger" value={text} onChange={setText} />
      </search>
      {rows.length === 0 ? (
        <Empty title="No matching plans">
          <p>No name, description, trigger or id contains this text.</p>
        </Empty>
      ) : (
        <ul ref={list} className="panel shadow-sm" aria-label="Plans">
          {rows.map((plan, index) => (
            <Row key={plan.id} plan={plan} index={index} now={now} />
          ))}
        </ul>
      )}
      {found.length > most && (
        <div>
          <Button onClick={() => setMost(most + atOnce)}>
            Show more ({count(found.length - most)} left)
          </Button>
        </div>
      )}
    </>
  );
}

function Row({ plan, index, now }: { plan: PlanRow; index: number; now: number }) {
  const { id, name, phase, trigger, fires } = plan;
  return (
    <li
      className="relative grid grid-cols-[minmax(0,1fr)_9rem_auto] items-center gap-5 border-b px-4 py-3 first:rounded-t-lg last:rounded-b-lg last:border-b-0 focus-within:bg-hover hover:bg-hover max-lg:grid-cols-[minmax(0,1fr)_auto] max-lg:gap-x-3 max-lg:gap-y-2 max-lg:px-3 max-lg:py-3"
      data-index={index}
    >
      <div className="min-w-0">
        <Link
          to="/plans/$id"
          params={{ id }}
          className="stretched text-body font-semibold wrap-anywhere text-ink"
        >
          {name}
        </Link>
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
          factOf("Next fire", plan.next_fire_at, (at) => until(at, now)),
          lastRunFact(plan, now),
        ]}
      />
    </li>
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
