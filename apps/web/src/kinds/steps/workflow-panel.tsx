import type { NodeForm } from "@uncaged/workflow/editing";
import { workflowSchema } from "@uncaged/workflow-steps/document";
import { useMemo } from "react";
import type { EditedDocument } from "../../editor/document/document.ts";
import { useDocumentPart } from "../../editor/document/use-document.ts";
import { SchemaForm } from "../../editor/form/node-form.tsx";
import { asSchema } from "../../lib/schema.ts";

type Props = { document: EditedDocument; isReadOnly: boolean };

/** The name, params, variables and other registry entries of a workflow. */
export function WorkflowPanel({ document, isReadOnly }: Props) {
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
