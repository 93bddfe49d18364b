import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { type SubmitEvent, useState } from "react";
import { startRerun } from "../api/runs.ts";
import { forkThread } from "../api/threads.ts";
import { DialogBody } from "../controls/dialog.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { type Beginning, rerunOf } from "./beginning.ts";
import type { ForkPoint } from "./fork.ts";
import { ForkButtons } from "./fork-buttons.tsx";
import styles from "./fork.module.css";
import { LimitFields } from "./limit-fields.tsx";
import { type Limits, limitsOf, problemsInLimits } from "./limits.ts";
import { ValueList } from "./value-list.tsx";
import { type Edits, overridesOf, problemOf } from "./values.ts";

type Props = { thread: Thread; point: ForkPoint; begin: Beginning; onClose: () => void };

/** The values that a new thread of a step workflow goes on with, each to be edited by itself. */
export function RerunForm({ thread, point, begin, onClose }: Props) {
  const { threadId } = thread;
  const { params, variables, localVars, within } = begin;
  const navigate = useNavigate();
  const [edits, setEdits] = useState<Edits>({});
  const [limits, setLimits] = useState<Limits>({ on: "", maxRounds: "" });
  const all = { ...params, ...variables, ...localVars };
  const rerun = useMutation({
    mutationFn: async () => {
      const overrides = overridesOf(all, edits);
      if (point.kind === "rerun" || Object.keys(overrides).length > 0) {
        return (await startRerun(rerunOf(threadId, begin, overrides, limits))).runID;
      }
      const keep = { atStep: begin.steps };
      return (await forkThread(threadId, { keep, ...limitsOf(limits) })).threadId;
    },
    onSuccess: (id) => {
      onClose();
      void navigate({ to: "/threads/$id", params: { id } });
    },
  });
  const hasProblem =
    Object.values(edits).some((edit) => problemOf(edit) !== null) ||
    Object.keys(problemsInLimits(limits)).length > 0;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!hasProblem) rerun.mutate();
  };
  const [first] = Object.keys({ ...variables, ...localVars, ...params });
  const listed = { edits, first, onChange: setEdits };
  return (
    <form onSubmit={submit} className={styles.form} noValidate>
      <DialogBody>
        {within !== null && (
          <p className={styles.within}>
            This step is of the workflow that <code>{within}</code> runs. The values are that
            workflow's own.
          </p>
        )}
        <ValueList title="Variables" values={variables} {...listed} />
        <ValueList title="Locals" values={localVars} {...listed} />
        <ValueList title="Params" values={params} {...listed} />
        {Object.keys(all).length === 0 && (
          <p className={styles.within}>The workflow declares no variables and no params.</p>
        )}
        <details className={styles.more}>
          <summary>Version and rounds</summary>
          <div className={styles.fields}>
            <LimitFields
              thread={thread}
              limits={limits}
              onChange={(change) => setLimits((now) => ({ ...now, ...change }))}
            />
          </div>
        </details>
        {rerun.error && <FailureNotice error={rerun.error} />}
      </DialogBody>
      <ForkButtons
        point={point}
        isBusy={rerun.isPending}
        isDisabled={hasProblem}
        onClose={onClose}
      />
    </form>
  );
}
