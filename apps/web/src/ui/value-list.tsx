import { useMemo } from "react";
import { ownIn } from "../lib/own.ts";
import {
  editOf,
  isChanged,
  problemOf as jsonProblemOf,
  switched,
  type ValueEdit,
  type ValueEdits,
} from "../lib/value-edits.ts";
import { Button } from "./button.tsx";
import { TextArea } from "./field.tsx";

type Props = {
  title?: string | undefined;
  values: Readonly<Record<string, unknown>>;
  edits: ValueEdits;
  first: string | undefined;
  /** Whether strings can be edited only as text, and other values only as JSON. */
  isFixed?: boolean | undefined;
  problemOf?: (name: string, edit: ValueEdit) => string | null;
  onChange: (edits: ValueEdits) => void;
};

/** A field for each named value, as a text or as JSON. */
export function ValueList(props: Props) {
  const { title, values, edits, first, isFixed, onChange } = props;
  const { problemOf = (_, edit) => jsonProblemOf(edit) } = props;
  const all = Object.entries(values);
  if (all.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      {title && <h3 className="text-small text-muted">{title}</h3>}
      {all.map(([name, value]) => (
        <ValueField
          key={name}
          name={name}
          value={value}
          edit={ownIn(edits, name)}
          isFirst={name === first}
          isFixed={isFixed === true}
          problemOf={(edit) => problemOf(name, edit)}
          onEdit={(edit) => onChange({ ...edits, [name]: edit })}
        />
      ))}
    </section>
  );
}

type FieldProps = {
  name: string;
  value: unknown;
  edit: ValueEdit | undefined;
  isFirst: boolean;
  isFixed: boolean;
  problemOf: (edit: ValueEdit) => string | null;
  onEdit: (edit: ValueEdit) => void;
};

function ValueField(props: FieldProps) {
  const { name, value, edit, isFirst, isFixed, problemOf, onEdit } = props;
  const original = useMemo(() => editOf(value), [value]);
  const { text, isText } = edit ?? original;
  const other = isText ? "JSON" : "text";
  return (
    <div className="flex flex-col items-start gap-1 [&>div]:w-full">
      <TextArea
        key={String(isText)}
        autoFocus={isFirst}
        code={!isText}
        label={isFixed ? name : `${name} as ${isText ? "text" : "JSON"}`}
        rows={Math.min(12, text.split("\n").length + 1)}
        original={original.text}
        value={text}
        hint={edit && isChanged(value, edit) ? "Changed" : undefined}
        problem={edit ? problemOf(edit) : null}
        onChange={({ target }) => onEdit({ text: target.value, isText })}
      />
      {!isFixed && (
        <Button
          small
          look="quiet"
          className="-ml-2"
          aria-label={`Edit ${name} as ${other}`}
          onClick={() => onEdit(switched({ text, isText }))}
        >
          Edit as {other}
        </Button>
      )}
    </div>
  );
}
