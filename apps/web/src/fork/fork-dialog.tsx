import { useQuery } from "@tanstack/react-query";
import type { NumberedStep, Thread } from "@uncaged/workflow-server/api-types";
import { bundleQuery } from "../api/workflows.ts";
import { Dialog, DialogBody } from "../controls/dialog.tsx";
import { counted } from "../format/amount.ts";
import { isRecord } from "../schema/json.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { type Beginning, beginningQuery } from "./beginning.ts";
import { type ForkPoint, keptBy } from "./fork.ts";
import { ForkForm } from "./fork-form.tsx";
import { RerunForm } from "./rerun-form.tsx";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  /** Where it was asked for; null when it was not. */
  point: ForkPoint | null;
  onClose: () => void;
};

/** Makes a new thread from the steps of one, with the values at a point as the reader edits them. */
export function ForkDialog(props: Props) {
  const { point } = props;
  return point && <OpenDialog {...props} point={point} />;
}

function OpenDialog({ thread, steps, point, onClose }: Props & { point: ForkPoint }) {
  const { data: bundle, isPending } = useQuery(bundleQuery(thread.hash));
  const isOfSteps = isRecord(bundle?.descriptor) && isRecord(bundle.descriptor.stepWorkflow);
  const { data: begin, error } = useQuery({
    ...beginningQuery(thread.threadId, point),
    enabled: isOfSteps,
  });
  const role = begin?.stepID ?? steps[point.number - 1]?.role ?? "";
  const form = { thread, point, onClose };
  return (
    <Dialog
      title={titleOf(point, role)}
      description={begin ? whatBegins(begin) : isOfSteps ? "" : whatHappens(point, steps.length)}
      isOpen
      onClose={onClose}
      wide
    >
      {!isPending && !isOfSteps && <ForkForm steps={steps} {...form} />}
      {begin && <RerunForm begin={begin} {...form} />}
      {error && (
        <DialogBody>
          <FailureNotice error={error} />
        </DialogBody>
      )}
      {(isPending || (isOfSteps && !begin && !error)) && <Skeleton />}
    </Dialog>
  );
}

function titleOf({ kind, number }: ForkPoint, role: string): string {
  const title = kind === "fork" ? `Fork after step ${number}` : `Rerun from step ${number}`;
  return role ? `${title}: ${role}` : title;
}

function whatHappens(point: ForkPoint, length: number): string {
  const again = point.number <= length ? ` Step ${point.number} is done again.` : "";
  return `${keeping(keptBy(point))}${point.kind === "fork" ? "" : again} This thread stays as it is.`;
}

function whatBegins({ steps, stepID }: Beginning): string {
  const values =
    stepID === null
      ? "These are the values that it goes on with."
      : `It goes on with ${stepID}, and with the values from before it.`;
  return `${keeping(steps)} ${values} This thread stays as it is.`;
}

function keeping(kept: number): string {
  if (kept === 0) return "A new thread begins from the start.";
  return `A new thread keeps ${counted(kept, "step")} without doing ${kept === 1 ? "it" : "them"} again.`;
}
