import { useQuery } from "@tanstack/react-query";
import type { NumberedStep, RunValues, Thread } from "@uncaged/workflow-server/api-types";
import { counted } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import type { ForkPoint } from "../../lib/threads.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { NewThreadForm } from "./new-thread-form.tsx";
import { keptBy, startOfRoles, startOfSteps, valuesQuery } from "./fork.ts";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  point: ForkPoint;
  /** Called with the id of the new thread. By default, it is opened. */
  onMade?: (id: string) => void;
  onClose: () => void;
};

/** Creates a thread from the steps of another thread, with edited values. */
export function ForkDialog({ thread, steps, point, onMade, onClose }: Props) {
  const { data: bundle, isPending } = useQuery(bundleQuery(thread.hash));
  const isOfSteps = isRecord(bundle?.descriptor) && isRecord(bundle.descriptor.stepWorkflow);
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
      wide
    >
      {start && <NewThreadForm {...{ thread, point, start, onMade, onClose }} />}
      {error && (
        <DialogBody>
          <FailureNotice error={error} />
        </DialogBody>
      )}
      {!start && !error && <Skeleton />}
    </Dialog>
  );
}

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
