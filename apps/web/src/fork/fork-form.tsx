import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { NumberedStep, Thread } from "@uncaged/workflow-server/api-types";
import { type SubmitEvent, useMemo, useState } from "react";
import { forkThread } from "../api/threads.ts";
import { DialogBody } from "../controls/dialog.tsx";
import { TextArea } from "../controls/field.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { draftAt, type ForkDraft, forkOf, type ForkPoint, keptBy, problemsIn } from "./fork.ts";
import { ForkButtons } from "./fork-buttons.tsx";
import styles from "./fork.module.css";
import { LimitFields } from "./limit-fields.tsx";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  point: ForkPoint;
  onClose: () => void;
};

/** What a new thread of roles goes on from: the content and the meta of the last step that is kept. */
export function ForkForm({ thread, steps, point, onClose }: Props) {
  const { threadId, prompt } = thread;
  const navigate = useNavigate();
  // The dialog shows what stood there when it was opened, also when the thread runs on.
  const [before] = useState(() => draftAt(point, steps, prompt));
  const [kept] = useState(() => steps[keptBy(point) - 1]);
  const [draft, setDraft] = useState(before);
  const problems = useMemo(() => problemsIn(draft), [draft]);
  const hasProblem = Object.keys(problems).length > 0;
  const fork = useMutation({
    mutationFn: () => forkThread(threadId, forkOf(point, before, draft)),
    onSuccess: ({ threadId: id }) => {
      onClose();
      void navigate({ to: "/threads/$id", params: { id } });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!hasProblem) fork.mutate();
  };
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
    <form onSubmit={submit} className={styles.form} noValidate>
      <DialogBody>
        {kept ? (
          <StepFields draft={draft} problem={problems.meta} kept={kept} set={set} />
        ) : (
          promptField
        )}
        <details className={styles.more}>
          <summary>{kept ? "Prompt, version and rounds" : "Version and rounds"}</summary>
          <div className={styles.fields}>
            {kept && promptField}
            <LimitFields thread={thread} limits={draft} onChange={set} />
          </div>
        </details>
        {fork.error && <FailureNotice error={fork.error} />}
      </DialogBody>
      <ForkButtons
        point={point}
        isBusy={fork.isPending}
        isDisabled={hasProblem}
        onClose={onClose}
      />
    </form>
  );
}

type StepFieldsProps = {
  draft: ForkDraft;
  problem: string | undefined;
  /** The last step that is kept. */
  kept: NumberedStep;
  set: (change: Partial<ForkDraft>) => void;
};

function StepFields({ draft, problem, kept, set }: StepFieldsProps) {
  const name = `step ${kept.number}, ${kept.role}`;
  return (
    <>
      <TextArea
        autoFocus
        label={`Content of ${name}`}
        rows={7}
        value={draft.content}
        onChange={({ target }) => set({ content: target.value })}
      />
      <TextArea
        code
        label={`Meta of ${name}`}
        hint="JSON. What you change here is what the next role reads."
        rows={7}
        value={draft.meta}
        problem={problem}
        onChange={({ target }) => set({ meta: target.value })}
      />
    </>
  );
}
