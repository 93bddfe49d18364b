import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, FilePlus2, ListFilter, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { removeWorkflow, workflowKeys } from "../api/workflows.ts";
import { Button, buttonClass } from "../controls/button.tsx";
import { Confirm } from "../confirm/confirm.tsx";
import { Menu, MenuItem } from "../controls/menu.tsx";

/** What can be done with a workflow. */
export function WorkflowActions({ name }: { name: string }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [isRemoving, setRemoving] = useState(false);
  const remove = async () => {
    await removeWorkflow(name);
    await navigate({ to: "/workflows" });
    void client.invalidateQueries({ queryKey: workflowKeys.all });
  };
  return (
    <>
      <Link to="/" search={{ workflow: name }} className={buttonClass()}>
        <ListFilter aria-hidden />
        Threads
      </Link>
      <Link to="/" search={{ start: name }} className={buttonClass("solid")}>
        <Play aria-hidden />
        Start
      </Link>
      <Menu trigger={<Button icon={<Ellipsis />} aria-label="More to do" />}>
        <MenuItem
          icon={<FilePlus2 />}
          onClick={() => void navigate({ to: "/add", search: { name } })}
        >
          Add a version…
        </MenuItem>
        <MenuItem icon={<Trash2 />} danger onClick={() => setRemoving(true)}>
          Remove…
        </MenuItem>
      </Menu>
      <Confirm
        title={`Remove ${name}?`}
        action="Remove"
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        perform={remove}
      >
        <p>The name is removed, and with it which versions it had. Its threads and bundles stay.</p>
      </Confirm>
    </>
  );
}
