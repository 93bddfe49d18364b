import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/shell.tsx";

/** All workflows. */
export function WorkflowsPage() {
  useTitle("Workflows");
  return <Page title="Workflows">{null}</Page>;
}
