import { useQuery } from "@tanstack/react-query";
import type { NumberedStep, RunValues, Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import { counted } from "../../lib/format.ts";
import { type ForkPoint, problemOfRounds } from "../../lib/threads.ts";
import { bundleQuery, historyQuery, isStepWorkflow } from "../../lib/workflows.ts";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import {
  keptBy,
  type Limits,
  type Start,
  startOfRoles,
  startOfSteps,
  valuesQuery,
} from "./fork.ts";
import { type ReactNode, useState } from "react";
import { forgetKept, useKept } from "../../lib/kept.ts";
import { useNewThread } from "../../lib/thread-actions.ts";
import { overridesOf, type ValueEdits } from "../../lib/value-edits.ts";
import { TextField } from "../../ui/field.tsx";
import { ValueList } from "../../ui/value-list.tsx";
import { VersionField } from "../../ui/version-field.tsx";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  point: ForkPoint;
  /** Called with the id of the new thread. By default, it is opened. */
  onMade: ((id: string) => void) | undefined;
  onClose: () => void;
};

/** Creates a thread from the steps of a thread, with edited values. */
export function ForkDialog({ thread, steps, point, onMade, onClose }: Props) {
  const { data: bundle, isPending } = useQuery(bundleQuery(thread.hash));
  const isOfSteps = isStepWorkflow(bundle);
  // The form takes the focus before the dialog can note its place.
  const [from] = useState(() => document.activeElement);
  const { data: begin, error } = useQuery({
    ...valuesQuery(thread.threadId, point),
    enabled: isOfSteps,
  });
  const { failure } = thread;
  // A failed step is not among the steps.
  const failed = failure?.step === point.number ? failure.role : null;
  const known = begin?.stepID ?? steps[point.number - 1]?.role ?? failed;
  const role = typeof known === "string" ? known : "";
  const start =
    begin === undefined
      ? !isPending && !isOfSteps && startOfRoles(thread, point, steps)
      : startOfSteps(thread.threadId, point, begin);
  return (
    <Dialog
      title={titleOf(point, role)}
      description={begin ? whatBegins(begin) : isOfSteps ? "" : whatHappens(point, steps.length)}
      isOpen
      onClose={onClose}
      focusAfter={() => (from?.isConnected && from instanceof HTMLElement ? from : null)}
      wide
    >
      {start && (
        <NewThreadForm
          {...{ ...actions[point.kind], thread, start, onMade, onClose }}
          keep={`fork-${thread.threadId}-${point.kind}-${point.number}`}
        />
      )}
      {error && (
        <DialogBody>
          <FailureNotice error={error} />
        </DialogBody>
      )}
      {!start && !error && <Skeleton />}
    </Dialog>
  );
}

const actions = {
  fork: { action: "Fork", icon: <GitFork /> },
  rerun: { action: "Rerun", icon: <RotateCcw /> },
};

function titleOf({ kind, number }: ForkPoint, role: string): string {
  const title = kind === "fork" ? `Fork after step ${number}` : `Rerun from step ${number}`;
  return role ? `${title}: ${role}` : title;
}

function whatHappens(point: ForkPoint, length: number): string {
  const again = point.number <= length ? ` Step ${point.number} runs again.` : "";
  return `${keeping(keptBy(point))}${point.kind === "fork" ? "" : again} Later steps read your changes. This thread does not change.`;
}

function whatBegins({ steps, stepID }: RunValues): string {
  const values =
    stepID === null
      ? "It continues with these values."
      : `It continues at ${stepID}, with the values before that step.`;
  return `${keeping(steps)} ${values} This thread does not change.`;
}

function keeping(kept: number): string {
  if (kept === 0) return "A new thread starts from the beginning.";
  return `A new thread keeps ${counted(kept, "step")} without running ${kept === 1 ? "it" : "them"} again.`;
}

type FormProps = {
  action: string;
  icon: ReactNode;
  /** Storage key of the edits; null stores nothing. */
  keep: string | null;
  start: Start;
  /** The thread whose version and limit of rounds can be changed. */
  thread?: Thread;
  onMade: ((id: string) => void) | undefined;
  onClose: () => void;
};

type Typed = { edits: ValueEdits; limits: Limits };

/** Edits the initial values of a new thread. Kept edits survive closing the dialog, until the thread is created. */
export function NewThreadForm(props: FormProps) {
  const { action, icon, keep, thread, onMade, onClose } = props;
  // The dialog keeps its initial values while the thread continues.
  const [{ groups, isFixed, note, problemOf, make }] = useState(props.start);
  const [{ edits, limits }, setTyped] = useKept<Typed>(keep, {
    edits: {},
    limits: { on: "", maxRounds: "" },
  });
  const all: Readonly<Record<string, unknown>> = Object.assign(
    {},
    ...groups.map(({ values }) => values),
  );
  const made = useNewThread(
    () => make(overridesOf(all, edits), limits),
    () => {
      if (keep !== null) forgetKept(keep);
      onClose();
    },
    onMade,
  );
  const hasProblem =
    problemOfRounds(limits.maxRounds).maxRounds !== undefined ||
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
  return (
    <DialogForm
      action={action}
      icon={icon}
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
      {thread && (
        <details>
          <summary>
            {groups.some(({ isSeldom }) => isSeldom)
              ? "Prompt, version and rounds"
              : "Version and rounds"}
          </summary>
          <div className="flex flex-col gap-4 pt-3">
            {lists(true)}
            <LimitFields
              thread={thread}
              limits={limits}
              onChange={(change) => setTyped({ edits, limits: { ...limits, ...change } })}
            />
          </div>
        </details>
      )}
    </DialogForm>
  );
}

type LimitsProps = { thread: Thread; limits: Limits; onChange: (change: Partial<Limits>) => void };

function LimitFields({ thread: { workflow, hash, maxRounds }, limits, onChange }: LimitsProps) {
  const { data: versions = [] } = useQuery({ ...historyQuery(workflow), retry: false });
  return (
    <>
      <VersionField
        label="Version"
        value={limits.on}
        hint="The new thread may use another version of the workflow."
        versions={versions.filter((one) => one.hash !== hash)}
        none={`${hash}, as before`}
        onChange={(on) => onChange({ on })}
      />
      <TextField
        label="Max rounds"
        inputMode="numeric"
        placeholder={`as before: ${maxRounds}`}
        hint="Counts all steps, including kept ones."
        value={limits.maxRounds}
        problem={problemOfRounds(limits.maxRounds).maxRounds}
        onChange={({ target }) => onChange({ maxRounds: target.value })}
      />
    </>
  );
}
