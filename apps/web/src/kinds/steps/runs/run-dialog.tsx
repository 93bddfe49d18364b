import { useMutation } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useMemo } from "react";
import { fieldsOf } from "../../../lib/schema.ts";
import { Dialog, DialogForm } from "../../../ui/dialog.tsx";
import { useSchemaForm } from "../../../ui/field.tsx";
import { type Draft, type FlowDocument, paramsOf, startRun } from "./start.ts";

type Props = {
  document: FlowDocument;
  draft: () => Draft;
  isOpen: boolean;
  onClose: () => void;
  onStarted: (runID: string) => void;
};

/** A form for the params that runs the current text of the document. */
export function RunDialog({ isOpen, ...rest }: Props) {
  return (
    <Dialog
      title="Run"
      description="The document runs as it is now, saved or not."
      isOpen={isOpen}
      onClose={rest.onClose}
    >
      <RunForm {...rest} />
    </Dialog>
  );
}

function RunForm({ document, draft, onClose, onStarted }: Omit<Props, "isOpen">) {
  const fields = useMemo(() => fieldsOf(paramsOf(document)), [document]);
  const { controls, value, submit } = useSchemaForm(fields);
  const start = useMutation({
    mutationFn: () => startRun(draft(), value),
    onSuccess: (runID) => {
      onStarted(runID);
      onClose();
    },
  });
  return (
    <DialogForm
      action="Run"
      icon={<Play />}
      work={start}
      onSubmit={(form) => submit(form, () => start.mutate())}
      onClose={onClose}
    >
      {controls}
    </DialogForm>
  );
}
