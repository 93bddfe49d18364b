import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { Check, X } from "lucide-react";
import type { ReactNode } from "react";
import { moment } from "../../lib/format.ts";
import { changePlan, confirmPlan, planKeys } from "../../lib/plans.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Panel } from "../../ui/page.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { SandboxFacts } from "./sandbox-facts.tsx";

type Props = {
  plan: PlanView;
  /** Identifies the plan on a page with several plans. */
  about?: ReactNode;
  onConfirmed?: () => void;
};

/** The content of a plan with the buttons that confirm or reject this exact version, by its hash. */
export function Confirmation({ plan, about, onConfirmed }: Props) {
  const { id, hash, preview, draft, phase } = plan;
  const client = useQueryClient();
  const decide = useMutation({
    mutationFn: async (isConfirmed: boolean) => {
      if (!isConfirmed) return void (await changePlan(id, "reject"));
      await confirmPlan(id, hash);
      onConfirmed?.();
    },
    onSettled: () => client.invalidateQueries({ queryKey: planKeys.all }),
  });
  const { credentials, nextFires, sandboxFacts, trigger } = preview;
  const runs = phase === "awaiting_confirmation" && plan.trigger.type === "manual";
  return (
    <Panel aria-label={about ? `To be confirmed: ${plan.name}` : "To be confirmed"}>
      <h2>{draft ? "A change to be confirmed" : "To be confirmed"}</h2>
      {about}
      <Facts
        look="list"
        facts={[
          ["Trigger", trigger],
          [
            "Next fires",
            nextFires.length > 0 ? nextFires.map((at) => moment(Date.parse(at))).join("; ") : null,
          ],
          [
            "Credentials",
            credentials
              .map(({ name, known }) => (known ? name : `${name} (not stored)`))
              .join(", ") || "none",
          ],
          ["Sandbox", <SandboxFacts key="sandbox" facts={sandboxFacts} />],
          ["Hash", <code key="hash">{hash.slice(0, 12)}</code>, hash],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <Button
          look="solid"
          icon={<Check />}
          isBusy={decide.isPending}
          onClick={() => decide.mutate(true)}
        >
          {runs ? "Confirm and run" : "Confirm"}
        </Button>
        <Button icon={<X />} isBusy={decide.isPending} onClick={() => decide.mutate(false)}>
          {draft ? "Drop the change" : "Reject"}
        </Button>
      </div>
      {decide.error && <FailureNotice error={decide.error} />}
    </Panel>
  );
}
