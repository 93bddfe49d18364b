import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Confirmation } from "../../kinds/plan/confirmation.tsx";
import { PlannerChat } from "../../kinds/plan/planner-chat.tsx";
import { conversationQuery, planQuery } from "../../lib/plans.ts";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { PlanSteps } from "./plan-definition.tsx";

export function NewPlanPage() {
  useTitle("New plan");
  const { session = null } = useSearch({ from: "/plans/new" });
  const conversation = useQuery({ ...conversationQuery(session ?? ""), enabled: session !== null });
  const id = conversation.data?.workflow ?? null;
  return (
    <Page title="New plan">
      <Panel aria-label="Planner">
        <PlannerChat
          path="/plans"
          label="What do you want done, and when?"
          hint="For example: every weekday at nine, tell me which of my repositories have failing builds."
          action="Plan it"
        />
      </Panel>
      {id !== null && <NewPlan id={id} />}
    </Page>
  );
}

function NewPlan({ id }: { id: string }) {
  const navigate = useNavigate();
  const query = useQuery(planQuery(id));
  return (
    <Loaded query={query} lines={8}>
      {(plan) => (
        <>
          <p className="text-muted">
            The plan{" "}
            <Link to="/plans/$id" params={{ id }} className="underline">
              {plan.name}
            </Link>{" "}
            is ready. Confirm it, or describe what to change.
          </p>
          {plan.phase === "awaiting_confirmation" && (
            <Confirmation
              plan={plan}
              onSent={() => void navigate({ to: "/plans/$id", params: { id } })}
            />
          )}
          <PlanSteps plan={plan} run={null} />
        </>
      )}
    </Loaded>
  );
}
