import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { NumberedStep, Thread } from "@uncaged/workflow-server/api-types";
import { GitFork, RotateCcw } from "lucide-react";
import { type SubmitEvent, useMemo, useState } from "react";
import { forkThread } from "../api/threads.ts";
import { historyQuery } from "../api/workflows.ts";
import { Button } from "../controls/button.tsx";
import { DialogBody, DialogButtons } from "../controls/dialog.tsx";
import { SelectField, TextArea, TextField } from "../controls/field.tsx";
import { moment } from "../format/time.ts";
import { FailureNotice } from "../states/failure.tsx";
import { draftAt, type ForkDraft, forkOf, type ForkPoint, keptBy, problemsIn } from "./fork.ts";
import styles from "./fork.module.css";

type Props = {
  thread: Thread;
  steps: readonly NumberedStep[];
  point: ForkPoint;
  /** The variables of a step workflow; null when it is none. */
  declared: Readonly<Record<string, unknown>> | null;
  onClose: () => void;
};

/** The values that a new thread goes on from. */
export function ForkForm({ thread, steps, point, declared, onClose }: Props) {
  const { threadId, prompt } = thread;
  const navigate = useNavigate();
  // The dialog shows what stood there when it was opened, also when the thread runs on.
  const [before] = useState(() => draftAt(point, steps, prompt, declared));
  const [draft, setDraft] = useState(before);
  const problems = useMemo(() => problemsIn(draft), [draft]);
  const fork = useMutation({
    mutationFn: () => forkThread(threadId, forkOf(point, before, draft, steps)),
    onSuccess: ({ threadId: id }) => {
      onClose();
      void navigate({ to: "/threads/$id", params: { id } });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (Object.keys(problems).length === 0) fork.mutate();
  };
  const set = (change: Partial<ForkDraft>) => setDraft((now) => ({ ...now, ...change }));
  return (
    <form onSubmit={submit} className={styles.form} noValidate>
      <DialogBody>
        <Values draft={draft} problems={problems} kept={steps[keptBy(point) - 1]} set={set} />
        <details className={styles.more}>
          <summary>Prompt, version and rounds</summary>
          <div className={styles.fields}>
            <TextArea
              label="Prompt"
              rows={3}
              value={draft.prompt}
              onChange={({ target }) => set({ prompt: target.value })}
            />
            <VersionField thread={thread} value={draft.on} onChange={(on) => set({ on })} />
            <TextField
              label="Max rounds"
              inputMode="numeric"
              placeholder={`as before: ${thread.maxRounds}`}
              hint="It counts all steps, those that are kept included."
              value={draft.maxRounds}
              problem={problems.maxRounds}
              onChange={({ target }) => set({ maxRounds: target.value })}
            />
          </div>
        </details>
        {fork.error && <FailureNotice error={fork.error} />}
      </DialogBody>
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="solid"
          type="submit"
          icon={point.kind === "fork" ? <GitFork /> : <RotateCcw />}
          isBusy={fork.isPending}
          disabled={Object.keys(problems).length > 0}
        >
          {point.kind === "fork" ? "Fork" : "Rerun"}
        </Button>
      </DialogButtons>
    </form>
  );
}

type ValuesProps = {
  draft: ForkDraft;
  problems: ReturnType<typeof problemsIn>;
  /** The last step that is kept. */
  kept: NumberedStep | undefined;
  set: (change: Partial<ForkDraft>) => void;
};

function Values({ draft, problems, kept, set }: ValuesProps) {
  if (draft.variables !== null) {
    return (
      <TextArea
        code
        autoFocus
        label="Variables before this step"
        hint="JSON. Those that you change are what the step begins with."
        rows={12}
        value={draft.variables}
        problem={problems.variables}
        onChange={({ target }) => set({ variables: target.value })}
      />
    );
  }
  if (!kept) {
    return (
      <TextArea
        autoFocus
        label="Prompt"
        rows={4}
        value={draft.prompt}
        onChange={({ target }) => set({ prompt: target.value })}
      />
    );
  }
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
        problem={problems.meta}
        onChange={({ target }) => set({ meta: target.value })}
      />
    </>
  );
}

type VersionProps = { thread: Thread; value: string; onChange: (version: string) => void };

function VersionField({ thread, value, onChange }: VersionProps) {
  const { data: versions = [] } = useQuery({ ...historyQuery(thread.workflow), retry: false });
  const others = versions.filter(({ hash }) => hash !== thread.hash);
  return (
    <SelectField
      label="Version"
      value={value}
      hint="The new thread may go on with another version of the workflow."
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{thread.hash}, as before</option>
      {others.map(({ hash, timestamp, current }) => (
        <option key={hash} value={hash}>
          {hash}, {moment(timestamp)}
          {current ? ", current" : ""}
        </option>
      ))}
    </SelectField>
  );
}
