import { Workflow } from "lucide-react";
import { ButtonLink, Command } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";

export const NoWorkflows = () => (
  <Empty icon={<Workflow />} title="No workflow yet">
    <p>A workflow is a name for a bundle. Add a file here, or in a terminal:</p>
    <Command>uncaged-workflow add greet greet.ts</Command>
    <ButtonLink to="/add" look="solid">
      Add a workflow
    </ButtonLink>
  </Empty>
);
