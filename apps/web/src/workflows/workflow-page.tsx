import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";

/** One workflow: its versions, its source, its roles. */
export function WorkflowPage() {
  useTitle("Workflow");
  return <Page title="Workflow">{null}</Page>;
}
