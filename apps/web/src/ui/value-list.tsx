import { useMemo } from "react";
import { ownIn } from "../lib/own.ts";
import {
  editOf,
  isChanged,
  problemOf,
  switched,
  type ValueEdit,
  type ValueEdits,
} from "../lib/value-edits.ts";
import { Button } from "./button.tsx";
import { TextArea } from "./field.tsx";

type Props = {
  title: string;
  values: Readonly<Record<string, unknown>>;
  edits: ValueEdits;
  /** The value to focus at first. */
  first: string | undefined;
  onChange: (change: (before: ValueEdits) => ValueEdits) => void;
};

/** A field for each named value, as a text or as JSON. */
export function ValueList({ title, values, edits, first, onChange }: Props) {
  const all = Object.entries(values);
  if (all.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <h3 className="text-small text-muted">{title}</h3>
      {all.map(([name, value]) => (
        <ValueField
          key={name}
          name={name}
          value={value}
          edit={ownIn(edits, name)}
          isFirst={name === first}
          onEdit={(edit) => onChange((before) => ({ ...before, [name]: edit }))}
        />
      ))}
    </section>
  );
}

type FieldProps = {
  name: string;
  /** The original value. */
  value: unknown;
  edit: ValueEdit | undefined;
  isFirst: boolean;
  onEdit: (edit: ValueEdit) => void;
};

function ValueField({ name, value, edit, isFirst, onEdit }: FieldProps) {
  const original = useMemo(() => editOf(value), [value]);
  const { text, isText } = edit ?? original;
  const other = isText ? "JSON" : "text";
  return (
    <div className="flex flex-col items-start gap-1 [&>div]:w-full">
      <TextArea
        key={String(isText)}
        autoFocus={isFirst}
        code={!isText}
        label={`${name} as ${isText ? "text" : "JSON"}`}
        rows={Math.min(12, text.split("\n").length + 1)}
        original={original.text}
        value={text}
        hint={edit && isChanged(value, edit) ? "Changed" : undefined}
        problem={edit ? problemOf(edit) : null}
        onChange={({ target }) => onEdit({ text: target.value, isText })}
      />
      <Button
        small
        look="quiet"
        className="-ml-2"
        aria-label={`Edit ${name} as ${other}`}
        onClick={() => onEdit(switched({ text, isText }))}
      >
        Edit as {other}
      </Button>
    </div>
  );
}
