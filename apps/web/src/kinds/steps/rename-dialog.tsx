import { renameStep } from "@uncaged/workflow-steps/editing";
import { useState } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { showProblems, TextField } from "../../ui/field.tsx";

type Props = { document: EditedDocument; node: string | null; onClose: () => void };

export function RenameDialog({ document, node, onClose }: Props) {
  return (
    <Dialog title={`Rename ${node ?? ""}`} isOpen={node !== null} onClose={onClose}>
      {node !== null && <RenameForm key={node} document={document} node={node} onClose={onClose} />}
    </Dialog>
  );
}

function RenameForm({ document, node, onClose }: Props & { node: string }) {
  const [id, setId] = useState(node);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (form: HTMLElement) => {
    if (id === node) return onClose();
    const edit = renameStep(document.state().value, node, id.trim());
    if ("refused" in edit) return showProblems(form, () => setProblem(edit.refused));
    document.apply(edit);
    onClose();
  };
  return (
    <DialogForm action="Rename" onSubmit={submit} onClose={onClose}>
      <TextField
        label="Id"
        autoFocus
        value={id}
        problem={problem}
        hint="The type, an underscore and a name: LLM_Plan. All references change with it."
        onChange={({ target }) => {
          setId(target.value);
          setProblem(null);
        }}
      />
    </DialogForm>
  );
}
