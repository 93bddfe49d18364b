import { useQuery } from "@tanstack/react-query";
import type { NumberedStep, Thread } from "@uncaged/workflow-server/api-types";
import { bundleQuery } from "../api/workflows.ts";
import { Dialog } from "../controls/dialog.tsx";
import { counted } from "../format/amount.ts";
import { Skeleton } from "../states/skeleton.tsx";
import { type ForkPoint, keptBy } from "./fork.ts";
import { ForkForm } from "./fork-form.tsx";
import { declaredIn } from "./variables.ts";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  /** Where it was asked for; null when it was not. */
  point: ForkPoint | null;
  onClose: () => void;
};

/** Makes a new thread from the steps of one, with the values at a point as the reader edits them. */
export function ForkDialog({ thread, steps, point, onClose }: Props) {
  const { data: bundle, isPending } = useQuery({
    ...bundleQuery(thread.hash),
    enabled: point !== null,
  });
  if (point === null) return null;
  const role = steps[point.number - 1]?.role ?? "";
  const title =
    point.kind === "fork" ? `Fork after step ${point.number}` : `Rerun from step ${point.number}`;
  return (
    <Dialog
      title={role ? `${title}: ${role}` : title}
      description={whatHappens(point)}
      isOpen
      onClose={onClose}
      wide
    >
      {isPending ? (
        <Skeleton />
      ) : (
        <ForkForm
          thread={thread}
          steps={steps}
          point={point}
          declared={declaredIn(bundle?.descriptor)}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

function whatHappens(point: ForkPoint): string {
  const kept = keptBy(point);
  const keeps =
    kept === 0
      ? "A new thread begins from the start."
      : `A new thread keeps ${counted(kept, "step")} without doing ${kept === 1 ? "it" : "them"} again.`;
  return point.kind === "fork"
    ? `${keeps} This thread stays as it is.`
    : `${keeps} Step ${point.number} is done again. This thread stays as it is.`;
}
