import { useQuery } from "@tanstack/react-query";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import { moment } from "../../lib/format.ts";
import { historyQuery } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { DialogButtons } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { type ForkPoint, type Limits, problemsInLimits } from "./fork.ts";

type ForkButtonsProps = {
  point: ForkPoint;
  isBusy: boolean;
  isDisabled: boolean;
  onClose: () => void;
};

/** What ends the dialog: without a new thread, or with one. */
export function ForkButtons({ point, isBusy, isDisabled, onClose }: ForkButtonsProps) {
  const isFork = point.kind === "fork";
  return (
    <DialogButtons>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        look="solid"
        type="submit"
        icon={isFork ? <GitFork /> : <RotateCcw />}
        isBusy={isBusy}
        disabled={isDisabled}
      >
        {isFork ? "Fork" : "Rerun"}
      </Button>
    </DialogButtons>
  );
}

type LimitFieldsProps = {
  thread: Thread;
  limits: Limits;
  onChange: (change: Partial<Limits>) => void;
};

/** The version that a new thread goes on with, and its rounds. */
export function LimitFields({ thread, limits, onChange }: LimitFieldsProps) {
  const { data: versions = [] } = useQuery({ ...historyQuery(thread.workflow), retry: false });
  const others = versions.filter(({ hash }) => hash !== thread.hash);
  return (
    <>
      <SelectField
        label="Version"
        value={limits.on}
        hint="The new thread may go on with another version of the workflow."
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
        hint="It counts all steps, those that are kept included."
        value={limits.maxRounds}
        problem={problemsInLimits(limits).maxRounds}
        onChange={({ target }) => onChange({ maxRounds: target.value })}
      />
    </>
  );
}
