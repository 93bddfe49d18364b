import { useQuery } from "@tanstack/react-query";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import { useState } from "react";
import { moment } from "../../lib/format.ts";
import { forgetKept, useKept } from "../../lib/kept.ts";
import { useNewThread } from "../../lib/thread-actions.ts";
import { type ForkPoint, problemOfRounds } from "../../lib/threads.ts";
import { overridesOf, type ValueEdits } from "../../lib/value-edits.ts";
import { historyQuery } from "../../lib/workflows.ts";
import { DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { ValueList } from "../../ui/value-list.tsx";
import type { Limits, Start } from "./fork.ts";

type Props = {
  thread: Thread;
  point: ForkPoint;
  start: Start;
  onMade: ((id: string) => void) | undefined;
  onClose: () => void;
};

type Typed = { edits: ValueEdits; limits: Limits };

/** Edits the initial values of a new thread. Edits survive closing the dialog, until the thread is created. */
export function NewThreadForm({ thread, point, start: given, onMade, onClose }: Props) {
  const { threadId, workflow, hash } = thread;
  const { kind, number } = point;
  // The dialog keeps its initial values while the thread continues.
  const [start] = useState(given);
  const { groups, isFixed, note, problemOf } = start;
  const keep = `fork-${threadId}-${kind}-${number}`;
  const [{ edits, limits }, setTyped] = useKept<Typed>(keep, {
    edits: {},
    limits: { on: "", maxRounds: "" },
  });
  const all: Readonly<Record<string, unknown>> = Object.assign(
    {},
    ...groups.map(({ values }) => values),
  );
  const made = useNewThread(
    () => start.make(overridesOf(all, edits), limits),
    () => {
      forgetKept(keep);
      onClose();
    },
    onMade,
  );
  const roundsProblem = problemOfRounds(limits.maxRounds).maxRounds;
  const hasProblem =
    roundsProblem !== undefined ||
    Object.entries(edits).some(([name, edit]) => problemOf(name, edit) !== null);
  const first = groups.flatMap(({ values }) => Object.keys(values))[0];
  const lists = (isSeldom: boolean) =>
    groups
      .filter((group) => (group.isSeldom ?? false) === isSeldom)
      .map(({ title, values }, index) => (
        <ValueList
          key={index}
          {...{ title, values, edits, first, isFixed, problemOf }}
          onChange={(edited) => setTyped({ edits: edited, limits })}
        />
      ));
  const { data: versions = [] } = useQuery({ ...historyQuery(workflow), retry: false });
  const setLimits = (change: Partial<Limits>) =>
    setTyped({ edits, limits: { ...limits, ...change } });
  return (
    <DialogForm
      action={kind === "fork" ? "Fork" : "Rerun"}
      icon={kind === "fork" ? <GitFork /> : <RotateCcw />}
      work={made}
      isDisabled={hasProblem}
      onSubmit={() => {
        if (!hasProblem) made.mutate();
      }}
      onClose={onClose}
    >
      {note && <p className="text-muted">{note}</p>}
      {lists(false)}
      {first === undefined && (
        <p className="text-muted">The workflow declares no variables or params.</p>
      )}
      <details>
        <summary>
          {groups.some(({ isSeldom }) => isSeldom)
            ? "Prompt, version and rounds"
            : "Version and rounds"}
        </summary>
        <div className="flex flex-col gap-4 pt-3">
          {lists(true)}
          <SelectField
            label="Version"
            value={limits.on}
            hint="The new thread may use another version of the workflow."
            onChange={({ target }) => setLimits({ on: target.value })}
          >
            <option value="">{hash}, as before</option>
            {versions
              .filter((one) => one.hash !== hash)
              .map((one) => (
                <option key={one.hash} value={one.hash}>
                  {one.hash}, {moment(one.timestamp)}
                  {one.current ? ", current" : ""}
                </option>
              ))}
          </SelectField>
          <TextField
            label="Max rounds"
            inputMode="numeric"
            placeholder={`as before: ${thread.maxRounds}`}
            hint="Counts all steps, including kept ones."
            value={limits.maxRounds}
            problem={roundsProblem}
            onChange={({ target }) => setLimits({ maxRounds: target.value })}
          />
        </div>
      </details>
    </DialogForm>
  );
}
