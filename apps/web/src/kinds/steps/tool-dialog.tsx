import type { NodeForm } from "@uncaged/workflow/editing";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import { SchemaForm } from "../../editor/form/node-form.tsx";
import { asSchema } from "../../lib/schema.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogBody } from "../../ui/dialog.tsx";

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
