import { useQuery } from "@tanstack/react-query";
import type { NumberedStep, RunValues, Thread } from "@uncaged/workflow-server/api-types";
import { useMemo, useState } from "react";
import { counted } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import { forkThread, type ForkPoint } from "../../lib/threads.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { NewThreadForm } from "./new-thread-form.tsx";
import { valuesQuery, draftAt, type ForkDraft, forkOf, keptBy, problemsIn } from "./fork.ts";
import { RerunForm } from "./rerun-form.tsx";

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
  const role = begin?.stepID ?? steps[point.number - 1]?.role ?? "";
  const form = { thread, point, onMade, onClose };
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
  const again = point.number <= length ? ` Step ${point.number} runs again.` : "";
  return `${keeping(keptBy(point))}${point.kind === "fork" ? "" : again} This thread does not change.`;
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

/** Edits the start of a new thread of roles: content and meta of the last kept step. */
function ForkForm({ thread, steps, point, onMade, onClose }: Props) {
  const { threadId, prompt } = thread;
  // The dialog keeps its initial values while the thread continues.
  const [before] = useState(() => draftAt(point, steps, prompt));
  const [kept] = useState(() => steps[keptBy(point) - 1]);
  const [draft, setDraft] = useState(before);
  // Unedited meta is valid and may be long.
  const meta = draft.meta === before.meta ? "{}" : draft.meta;
  const problems = useMemo(() => problemsIn({ ...draft, meta }), [draft, meta]);
  const set = (change: Partial<ForkDraft>) => setDraft((now) => ({ ...now, ...change }));
  const promptField = (
    <TextArea
      label="Prompt"
      rows={kept ? 3 : 4}
      autoFocus={!kept}
      value={draft.prompt}
      onChange={({ target }) => set({ prompt: target.value })}
    />
  );
  return (
    <NewThreadForm
      thread={thread}
      point={point}
      limits={draft}
      onLimits={set}
      seldom={kept && promptField}
      hasProblem={Object.keys(problems).length > 0}
      make={async () => (await forkThread(threadId, forkOf(point, before, draft))).threadId}
      onMade={onMade}
      onClose={onClose}
    >
      {kept ? (
        <>
          <TextArea
            autoFocus
            original={before.content}
            label={`Content of step ${kept.number}, ${kept.role}`}
            rows={7}
            value={draft.content}
            onChange={({ target }) => set({ content: target.value })}
          />
          <TextArea
            code
            label={`Meta of step ${kept.number}, ${kept.role}`}
            hint="JSON. The next role reads your changes."
            original={before.meta}
            rows={7}
            value={draft.meta}
            problem={problems.meta}
            onChange={({ target }) => set({ meta: target.value })}
          />
        </>
      ) : (
        promptField
      )}
    </NewThreadForm>
  );
}
