import { useMutation } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useMemo } from "react";
import { fieldsOf } from "../../../lib/schema.ts";
import { Dialog, DialogForm } from "../../../ui/dialog.tsx";
import { useSchemaForm } from "../../../ui/field.tsx";
import { type FlowDocument, paramsOf, startRun } from "./start.ts";

type Props = {
  document: FlowDocument;
  isOpen: boolean;
  onClose: () => void;
  onStarted: (runID: string) => void;
};

/** Asks for params and runs the current text of the document. */
export function RunDialog({ document, isOpen, onClose, onStarted }: Props) {
  return (
    <Dialog
      title="Run"
      description="The document runs as it is now, saved or not."
      isOpen={isOpen}
      onClose={onClose}
    >
      <RunForm document={document} onClose={onClose} onStarted={onStarted} />
    </Dialog>
  );
}

function RunForm({ document, onClose, onStarted }: Omit<Props, "isOpen">) {
  const fields = useMemo(() => fieldsOf(paramsOf(document)), [document]);
  const { controls, value, submit } = useSchemaForm(fields);
  const start = useMutation({
    mutationFn: () => startRun(document, value),
    onSuccess: ({ runID }) => {
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
