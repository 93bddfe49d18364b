import "../../lib/no-eval.ts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { editedText } from "@uncaged/workflow-plan/editing";
import type { PlanDefinition, PlanView } from "@uncaged/workflow-server/api-types";
import { ArrowLeft, Save } from "lucide-react";
import { useEffect, useState } from "react";
import { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import { Editor } from "../../editor/editor.tsx";
import { planKind } from "../../kinds/plan/plan-kind.ts";
import { forgetKept, useKept } from "../../lib/kept.ts";
import { definePlan, planKeys, planQuery } from "../../lib/plans.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { canBeChanged } from "./plan-definition.tsx";

/** Edits the definition of a plan on a canvas and as JSON. The saved change must be confirmed. */
export function PlanEditorPage() {
  const { id } = useParams({ from: "/plans/$id/edit" });
  const { data: plan, error } = useQuery(planQuery(id));
  useTitle(plan ? `Edit ${plan.name}` : "Edit a plan");
  if (plan) return <PlanEditor key={plan.id} plan={plan} />;
  return (
    <Page title="Edit a plan">
      {error ? <FailureNotice error={error} /> : <Skeleton lines={10} />}
    </Page>
  );
}

function PlanEditor({ plan }: { plan: PlanView }) {
  const { id, name } = plan;
  const client = useQueryClient();
  const navigate = useNavigate();
  const key = `plan-edit-${id}`;
  const [draft, keepDraft] = useKept<string | null>(key, null);
  // Another program may change the plan meanwhile.
  const [hash] = useState(plan.hash);
  const [document] = useState(() => {
    const made = new EditedDocument(planKind, editedText(plan.draft ?? plan));
    if (draft === null) return made;
    made.replaceAll(draft, "Restore unsaved changes");
    made.say("These are your unsaved changes. Undo them to see the plan as it is.");
    return made;
  });
  useEffect(() => () => document.close(), [document]);
  const unsaved = useDocumentPart(document, ({ text, saved }) => (text === saved ? null : text));
  useEffect(() => keepDraft(unsaved), [unsaved]);
  const save = useMutation({
    mutationFn: async () => {
      const { broken, value } = document.state();
      if (broken) throw new Error(`invalid JSON in line ${broken.line}`);
      await definePlan(id, hash, value as PlanDefinition);
      forgetKept(key);
      await client.invalidateQueries({ queryKey: planKeys.all });
      await navigate({ to: "/plans/$id", params: { id } });
    },
  });
  return (
    <Editor
      document={document}
      name={name}
      isReadOnly={!canBeChanged(plan)}
      notice={save.error && <FailureNotice error={save.error} />}
      onSave={() => save.mutate()}
      toolbar={
        <>
          <ButtonLink to="/plans/$id" params={{ id }} icon={<ArrowLeft />}>
            To the plan
          </ButtonLink>
          {canBeChanged(plan) && (
            <Button
              look="solid"
              icon={<Save />}
              title="Save (Ctrl S)"
              isBusy={save.isPending}
              onClick={() => save.mutate()}
            >
              Save
            </Button>
          )}
        </>
      }
    />
  );
}
