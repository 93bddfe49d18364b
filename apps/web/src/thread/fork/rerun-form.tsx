import type { RunValues, Thread } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { forkThread, type ForkPoint, problemOfRounds, startRerun } from "../../lib/threads.ts";
import { overridesOf, problemOf, type ValueEdits } from "../../lib/value-edits.ts";
import { ValueList } from "../../ui/value-list.tsx";
import { type Limits, limitsOf, rerunOf } from "./fork.ts";
import { NewThreadForm } from "./new-thread-form.tsx";

type Props = {
  thread: Thread;
  point: ForkPoint;
  begin: RunValues;
  onMade: ((id: string) => void) | undefined;
  onClose: () => void;
};

/** The form for a new thread of a step workflow. Each value can be edited separately. */
export function RerunForm({ thread, point, begin, onMade, onClose }: Props) {
  const { threadId } = thread;
  const { params, variables, localVars, within } = begin;
  const [edits, setEdits] = useState<ValueEdits>({});
  const [limits, setLimits] = useState<Limits>({ on: "", maxRounds: "" });
  const all = { ...params, ...variables, ...localVars };
  const make = async () => {
    const overrides = overridesOf(all, edits);
    if (point.kind === "rerun" || Object.keys(overrides).length > 0) {
      return (await startRerun(rerunOf(threadId, begin, overrides, limits))).runID;
    }
    const keep = { atStep: begin.steps };
    return (await forkThread(threadId, { keep, ...limitsOf(limits) })).threadId;
  };
  const hasProblem =
    Object.values(edits).some((edit) => problemOf(edit) !== null) ||
    problemOfRounds(limits.maxRounds).maxRounds !== undefined;
  const [first] = Object.keys({ ...variables, ...localVars, ...params });
  const listed = { edits, first, onChange: setEdits };
  return (
    <NewThreadForm
      thread={thread}
      point={point}
      limits={limits}
      onLimits={(change) => setLimits((now) => ({ ...now, ...change }))}
      hasProblem={hasProblem}
      make={make}
      onMade={onMade}
      onClose={onClose}
    >
      {within !== null && (
        <p className="text-muted">
          This step belongs to the workflow that <code>{within}</code> runs. The values are from
          that workflow.
        </p>
      )}
      <ValueList title="Variables" values={variables} {...listed} />
      <ValueList title="Locals" values={localVars} {...listed} />
      <ValueList title="Params" values={params} {...listed} />
      {Object.keys(all).length === 0 && (
        <p className="text-muted">The workflow declares no variables or params.</p>
      )}
    </NewThreadForm>
  );
}
