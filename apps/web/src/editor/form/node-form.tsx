import type { Completion, DocumentPath, Edit, NodeForm, Refused } from "@uncaged/workflow/editing";
import { useContext, useMemo } from "react";
import { asSchema } from "../../lib/schema.ts";
import { useDocumentPart, useEditor } from "../document/use-document.ts";
import { LastFieldContext } from "./last-field.ts";
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
  const { schema, value, locked = {}, expressions = [] } = form;
  const set = (at: DocumentPath, next: unknown) => apply(editAt(form, id, at, next));
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

/** The edit for the new value of a form's field. */
export function editAt(
  { path, edit }: NodeForm,
  id: string,
  at: DocumentPath,
  next: unknown,
): Edit | Refused {
  const [field = "it"] = at;
  const own = edit?.(at, next) ?? {
    label: `Change ${field}`,
    changes: [{ path: [...path, ...at], value: next }],
  };
  const isTyped = typeof next === "string" || typeof next === "number";
  return { ...own, ...(isTyped && { merge: `${id} ${at.join(".")}` }) };
}

export function FormOfNode({ id }: { id: string }) {
  const { document, isReadOnly } = useEditor();
  const value = useDocumentPart(document, (state) => state.value);
  const isBroken = useDocumentPart(document, (state) => state.broken !== null);
  const form = useMemo(() => document.kind.form(value, id), [document, value, id]);
  const lastField = useContext(LastFieldContext);
  if (!form) return <p className="text-muted">No fields.</p>;
  return (
    <fieldset
      disabled={isBroken || isReadOnly}
      className="flex min-w-0 flex-col gap-3"
      data-edits-document
      onSelect={({ target }) => {
        const { path } = (target as HTMLElement).dataset;
        if (path === undefined || !(target instanceof HTMLTextAreaElement)) return;
        const at = JSON.parse(path) as DocumentPath;
        lastField.current = { node: id, path: at, caret: target.selectionStart };
      }}
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
