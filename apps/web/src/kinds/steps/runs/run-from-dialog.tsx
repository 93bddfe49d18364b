import { useMutation, useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { overridesOf, problemOf, type ValueEdits } from "../../../lib/value-edits.ts";
import { Dialog, DialogBody, DialogForm } from "../../../ui/dialog.tsx";
import { FailureNotice, Skeleton } from "../../../ui/states.tsx";
import { ValueList } from "../../../ui/value-list.tsx";
import {
  type Beginning,
  beginningIn,
  declaredBeginning,
  type Draft,
  type FlowDocument,
  startFrom,
} from "./start.ts";

type Props = {
  document: FlowDocument;
  draft: () => Draft;
  /** The step to start from; null while the dialog is closed. */
  stepID: string | null;
  /** The run whose values and steps are kept; null for none. */
  runID: string | null;
  onClose: () => void;
  onStarted: (runID: string) => void;
};

/** Runs a document from one of its steps, with edited values. */
export function RunFromDialog({ stepID, ...rest }: Props) {
  return (
    <Dialog title={`Run from ${stepID ?? ""}`} isOpen={stepID !== null} onClose={rest.onClose} wide>
      {stepID !== null && <From key={stepID} {...rest} stepID={stepID} />}
    </Dialog>
  );
}

type FromProps = Props & { stepID: string };

function From({ runID, ...rest }: FromProps) {
  const { document, stepID } = rest;
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", runID, "before", stepID],
    queryFn: ({ signal }) =>
      runID === null ? declaredBeginning(document) : beginningIn(runID, stepID, signal),
    gcTime: 0,
    retry: false,
  });
  if (error) {
    return (
      <DialogBody>
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </DialogBody>
    );
  }
  return data ? <FromForm {...rest} begin={data} /> : <Skeleton lines={5} />;
}

type FormProps = Omit<FromProps, "runID"> & { begin: Beginning };

function FromForm({ draft, stepID, begin, onClose, onStarted }: FormProps) {
  const { params, variables, threadId } = begin;
  const [edits, setEdits] = useState<ValueEdits>({});
  const all = { ...params, ...variables };
  const start = useMutation({
    mutationFn: () => startFrom(draft(), stepID, begin, overridesOf(all, edits)),
    onSuccess: (runID) => {
      onStarted(runID);
      onClose();
    },
  });
  const [first] = Object.keys({ ...variables, ...params });
  const listed = { edits, first, onChange: setEdits };
  return (
    <DialogForm
      action="Run from here"
      icon={<Play />}
      work={start}
      isDisabled={Object.values(edits).some((edit) => problemOf(edit) !== null)}
      onSubmit={() => start.mutate()}
      onClose={onClose}
    >
      <p className="text-muted">
        {threadId === null
          ? "No run is selected, so these are the declared values. Earlier steps do not run."
          : "These are the values of the selected run. Its earlier steps are kept and do not run again."}
      </p>
      <ValueList title="Variables" values={variables} {...listed} />
      <ValueList title="Params" values={params} {...listed} />
      {Object.keys(all).length === 0 && (
        <p className="text-muted">The workflow declares no variables or params.</p>
      )}
    </DialogForm>
  );
}
