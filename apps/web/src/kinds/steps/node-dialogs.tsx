import type { NodeForm } from "@uncaged/workflow/editing";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import { SchemaForm } from "../../editor/form/node-form.tsx";
import { asSchema } from "../../lib/schema.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { renameStep } from "@uncaged/workflow-steps/editing";
import { useMemo, useState } from "react";
import { showProblems, TextField } from "../../ui/field.tsx";
import { workflowSchema } from "@uncaged/workflow-steps/document";

type Props = { document: EditedDocument; node: string | null; onClose: () => void };

/** The form of a Tool step: the tool, and its inputs by the tool's schema. */
export function ToolDialog({ document, node, onClose }: Props) {
  const value = useDocumentPart(document, (state) => state.value);
  const form = node === null ? null : document.kind.form(value, node);
  return (
    <Dialog title={`Tool of ${node ?? ""}`} isOpen={form !== null} onClose={onClose}>
      {form && node !== null && (
        <DialogBody>
          <div className="flex flex-col gap-3" data-edits-document>
            <SchemaForm
              form={toolPart(form)}
              id={node}
              apply={(edit) => document.apply(edit)}
              complete={(at) => document.kind.complete?.(value, node, at) ?? []}
            />
          </div>
          <div className="flex justify-end">
            <Button look="solid" onClick={onClose}>
              Done
            </Button>
          </div>
        </DialogBody>
      )}
    </Dialog>
  );
}

const ofTool = [
  "tool",
  "toolName",
  "in",
  "input",
  "timeout",
  "allowError",
  "continueOnError",
  "out",
];

function toolPart(form: NodeForm): NodeForm {
  const all = asSchema(form.schema.properties);
  const properties = Object.fromEntries(
    ofTool.flatMap((name) => (name in all ? [[name, all[name]] as const] : [])),
  );
  return { ...form, schema: { type: "object", properties } };
}

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

type PanelProps = { document: EditedDocument; isReadOnly: boolean };

/** The name, params, variables and other registry entries of a workflow. */
export function WorkflowPanel({ document, isReadOnly }: PanelProps) {
  const value = useDocumentPart(document, (state) => state.value);
  const isBroken = useDocumentPart(document, (state) => state.broken !== null);
  const form = useMemo((): NodeForm => ({ schema, path: [], value }), [value]);
  return (
    <fieldset
      disabled={isBroken || isReadOnly}
      className="flex min-w-0 flex-col gap-3"
      data-edits-document
    >
      <SchemaForm form={form} id="workflow" apply={(edit) => document.apply(edit)} />
    </fieldset>
  );
}

const shown = ["name", "description", "registry", "workflowType", "version"];

const { properties } = workflowSchema();
const schema = {
  type: "object",
  required: ["name", "registry", "version"],
  properties: Object.fromEntries(shown.map((name) => [name, asSchema(properties)[name]])),
};
