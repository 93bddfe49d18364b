import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { workflowsQuery } from "../api/workflows.ts";
import { buttonClass } from "../controls/button.tsx";
import { Command } from "../controls/copy.tsx";
import { Dialog, DialogBody } from "../controls/dialog.tsx";
import { SelectField } from "../controls/field.tsx";
import { Empty } from "../states/empty.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { StartForm } from "./start-form.tsx";

type Props = {
  isOpen: boolean;
  onClose: () => void;
  /** The workflow that is chosen first: a name, or name@hash. */
  workflow?: string;
};

/** Starts a thread: which workflow, and what it is told. */
export function StartDialog({ isOpen, onClose, workflow }: Props) {
  return (
    <Dialog title="Start a thread" isOpen={isOpen} onClose={onClose}>
      <Start onClose={onClose} first={workflow} />
    </Dialog>
  );
}

function Start({ onClose, first }: { onClose: () => void; first: string | undefined }) {
  const { data: workflows, error, refetch } = useQuery(workflowsQuery);
  const [chosen, choose] = useState(first ?? "");
  if (error) {
    return (
      <DialogBody>
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </DialogBody>
    );
  }
  if (!workflows) return <Skeleton lines={5} />;
  if (workflows.length === 0) return <NoWorkflows />;
  const names = workflows.map(({ name }) => name);
  const name = chosen || names[0] || "";
  return (
    <StartForm
      workflow={name}
      onClose={onClose}
      choice={
        <SelectField
          label="Workflow"
          value={name}
          hint={workflows.find((one) => one.name === name)?.description}
          onChange={({ target }) => choose(target.value)}
        >
          {!names.includes(name) && <option value={name}>{name}</option>}
          {names.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </SelectField>
      }
    />
  );
}

function NoWorkflows() {
  return (
    <Empty title="There is no workflow yet">
      <p>Add one here, or in a terminal:</p>
      <Command>uncaged-workflow add greet greet.ts</Command>
      <Link to="/add" className={buttonClass("solid")}>
        Add a workflow
      </Link>
    </Empty>
  );
}
