import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";

/** All workflows. */
export function WorkflowsPage() {
  useTitle("Workflows");
  return <Page title="Workflows">{null}</Page>;
}
