import type { NodeForm } from "@uncaged/workflow/editing";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart, useEditor } from "../../editor/document/use-document.ts";
import { SchemaForm } from "../../editor/form/node-form.tsx";
import { asSchema } from "../../lib/schema.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";
import { renameStep } from "@uncaged/workflow-steps/editing";
import { useMemo } from "react";
import { TextDialog } from "../../ui/text-dialog.tsx";
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
  const editOf = (id: string) =>
    node === null || id === node ? null : renameStep(document.state().value, node, id);
  return (
    <TextDialog
      title={`Rename ${node ?? ""}`}
      label="Id"
      hint="The type, an underscore and a name: LLM_Plan. All references change with it."
      action="Rename"
      initial={node ?? ""}
      problemOf={(id) => {
        const edit = editOf(id);
        return edit && "refused" in edit ? edit.refused : null;
      }}
      isOpen={node !== null}
      onClose={onClose}
      perform={(id) => {
        const edit = editOf(id);
        if (edit && !("refused" in edit)) document.apply(edit);
      }}
    />
  );
}

/** The name, params, variables and other registry entries of a workflow. */
export function WorkflowPanel() {
  const { document, isReadOnly } = useEditor();
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
