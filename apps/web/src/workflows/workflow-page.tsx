import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { workflowQuery } from "../api/workflows.ts";
import { useStoreEvents } from "../events/use-store-events.ts";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { WorkflowActions } from "./workflow-actions.tsx";
import { WorkflowViews } from "./workflow-views.tsx";

/** One workflow: its versions, its roles, its graph, its source. */
export function WorkflowPage() {
  const { name } = useParams({ from: "/workflows/$name" });
  useTitle(name);
  useStoreEvents();
  const { data: workflow, error, refetch } = useQuery(workflowQuery(name));
  if (!workflow) {
    return (
      <Page title={name}>
        {error ? (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={8} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={name}
      note={workflow.descriptor?.description ?? "Its bundle can't be read."}
      actions={<WorkflowActions name={name} />}
    >
      <WorkflowViews workflow={workflow} />
    </Page>
  );
}
