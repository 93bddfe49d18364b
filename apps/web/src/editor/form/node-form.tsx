import { useMemo } from "react";
import { asSchema } from "../../lib/schema.ts";
import { useDocumentPart, useEdited } from "../document/use-document.ts";
import type { Completion, DocumentPath, Edit, NodeForm, Refused } from "../kind.ts";
import { type FormContext, ValueField } from "./value-field.tsx";

type FormProps = {
  form: NodeForm;
  /** Identifies the edited object. Another id resets the fields. */
  id: string;
  apply: (edit: Edit | Refused) => void;
  complete?: (path: DocumentPath) => readonly Completion[];
};

/** The fields of a form. Each keystroke edits the document. */
export function SchemaForm({ form, id, apply, complete = () => [] }: FormProps) {
  const { schema, path, value, locked = {}, expressions = [] } = form;
  const set = (at: DocumentPath, next: unknown) => {
    const [field = "it"] = at;
    const edit = form.edit?.(at, next) ?? {
      label: `Change ${field}`,
      changes: [{ path: [...path, ...at], value: next }],
    };
    const isTyped = typeof next === "string" || typeof next === "number";
    apply({ ...edit, ...(isTyped && { merge: `${id} ${at.join(".")}` }) });
  };
  const context: FormContext = { root: asSchema(schema), locked, expressions, complete, set };
  return (
    <ValueField
      key={id}
      form={context}
      schema={schema}
      name=""
      path={[]}
      value={value}
      isRequired
    />
  );
}

export function FormOfNode({ id, isReadOnly }: { id: string; isReadOnly: boolean }) {
  const document = useEdited();
  const value = useDocumentPart(document, (state) => state.value);
  const isBroken = useDocumentPart(document, (state) => state.broken !== null);
  const form = useMemo(() => document.kind.form(value, id), [document, value, id]);
  if (!form) return <p className="text-muted">No fields.</p>;
  return (
    <fieldset
      disabled={isBroken || isReadOnly}
      className="flex min-w-0 flex-col gap-3"
      data-edits-document
    >
      <SchemaForm
        form={form}
        id={id}
        apply={(edit) => document.apply(edit)}
        complete={(at) => document.kind.complete?.(value, id, at) ?? []}
      />
    </fieldset>
  );
}
