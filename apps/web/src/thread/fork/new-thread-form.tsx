import { useQuery } from "@tanstack/react-query";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { moment } from "../../lib/format.ts";
import { useNewThread } from "../../lib/thread-actions.ts";
import { type ForkPoint, problemOfRounds } from "../../lib/threads.ts";
import { historyQuery } from "../../lib/workflows.ts";
import { DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import type { Limits } from "./fork.ts";

type Props = {
  thread: Thread;
  point: ForkPoint;
  limits: Limits;
  onLimits: (change: Partial<Limits>) => void;
  /** Rarely changed fields, shown with the limits. */
  seldom?: ReactNode;
  hasProblem: boolean;
  make: () => Promise<string>;
  onMade: ((id: string) => void) | undefined;
  onClose: () => void;
  children: ReactNode;
};

export function NewThreadForm(props: Props) {
  const { thread, point, limits, onLimits, seldom, hasProblem, make, onMade, onClose, children } =
    props;
  const made = useNewThread(make, onClose, onMade);
  const isFork = point.kind === "fork";
  return (
    <DialogForm
      action={isFork ? "Fork" : "Rerun"}
      icon={isFork ? <GitFork /> : <RotateCcw />}
      work={made}
      isDisabled={hasProblem}
      onSubmit={() => {
        if (!hasProblem) made.mutate();
      }}
      onClose={onClose}
    >
      {children}
      <details>
        <summary>{seldom ? "Prompt, version and rounds" : "Version and rounds"}</summary>
        <div className="flex flex-col gap-4 pt-3">
          {seldom}
          <LimitFields thread={thread} limits={limits} onChange={onLimits} />
        </div>
      </details>
    </DialogForm>
  );
}

type LimitFieldsProps = {
  thread: Thread;
  limits: Limits;
  onChange: (change: Partial<Limits>) => void;
};

function LimitFields({ thread, limits, onChange }: LimitFieldsProps) {
  const { data: versions = [] } = useQuery({ ...historyQuery(thread.workflow), retry: false });
  const others = versions.filter(({ hash }) => hash !== thread.hash);
  return (
    <>
      <SelectField
        label="Version"
        value={limits.on}
        hint="The new thread may use another version of the workflow."
        onChange={({ target }) => onChange({ on: target.value })}
      >
        <option value="">{thread.hash}, as before</option>
        {others.map(({ hash, timestamp, current }) => (
          <option key={hash} value={hash}>
            {hash}, {moment(timestamp)}
            {current ? ", current" : ""}
          </option>
        ))}
      </SelectField>
      <TextField
        label="Max rounds"
        inputMode="numeric"
        placeholder={`as before: ${thread.maxRounds}`}
        hint="Counts all steps, including kept ones."
        value={limits.maxRounds}
        problem={problemOfRounds(limits.maxRounds).maxRounds}
        onChange={({ target }) => onChange({ maxRounds: target.value })}
      />
    </>
  );
}
