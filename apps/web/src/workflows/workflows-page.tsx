import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FilePlus2, Workflow } from "lucide-react";
import { workflowsQuery } from "../api/workflows.ts";
import { buttonClass } from "../controls/button.tsx";
import { Command } from "../controls/copy.tsx";
import { useStoreEvents } from "../events/use-store-events.ts";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { Empty } from "../states/empty.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { WorkflowList } from "./workflow-list.tsx";

/** All workflows. */
export function WorkflowsPage() {
  useTitle("Workflows");
  useStoreEvents();
  return (
    <Page
      title="Workflows"
      actions={
        <Link to="/add" className={buttonClass("solid")}>
          <FilePlus2 aria-hidden />
          Add
        </Link>
      }
    >
      <List />
    </Page>
  );
}

function List() {
  const { data: workflows, error, refetch } = useQuery(workflowsQuery);
  if (workflows && workflows.length > 0) return <WorkflowList workflows={workflows} />;
  if (workflows) {
    return (
      <Empty icon={<Workflow />} title="No workflow yet">
        <p>A workflow is a name for a bundle. Add a file here, or in a terminal:</p>
        <Command>uncaged-workflow add greet greet.ts</Command>
        <Link to="/add" className={buttonClass("solid")}>
          Add a workflow
        </Link>
      </Empty>
    );
  }
  if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return <Skeleton lines={6} />;
}
