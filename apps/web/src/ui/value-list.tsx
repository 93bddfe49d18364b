import { Check, Pencil, Undo2 } from "lucide-react";
import { useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { ownIn } from "../lib/own.ts";
import {
  editOf,
  isChanged,
  problemOf,
  switched,
  type ValueEdit,
  type ValueEdits,
  valueOf,
} from "../lib/value-edits.ts";
import { Button } from "./button.tsx";
import { TextArea } from "./field.tsx";
import { Pill } from "./states.tsx";
import { Prose } from "./prose.tsx";
import { Value } from "./value.tsx";

type ValueListProps = {
  title: string;
  values: Readonly<Record<string, unknown>>;
  edits: ValueEdits;
  first: string | undefined;
  onChange: (change: (before: ValueEdits) => ValueEdits) => void;
};

/** Named values. Each value can be edited separately, as a text or as JSON. */
export function ValueList({ title, values, edits, first, onChange }: ValueListProps) {
  const id = useId();
  const names = Object.keys(values);
  if (names.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h3 id={id} className="pb-1 text-small text-muted">
        {title}
      </h3>
      <ul className="divide-y rounded-md border">
        {names.map((name) => (
          <ValueRow
            key={name}
            name={name}
            value={values[name]}
            edit={ownIn(edits, name)}
            isFirst={name === first}
            onEdit={(edit) => onChange((before) => edited(before, name, edit))}
          />
        ))}
      </ul>
    </section>
  );
}

const edited = (before: ValueEdits, name: string, edit: ValueEdit | null): ValueEdits =>
  Object.fromEntries([
    ...Object.entries(before).filter(([other]) => other !== name),
    ...(edit ? [[name, edit] as const] : []),
  ]);

type ValueRowProps = {
  name: string;
  /** The original value. */
  value: unknown;
  edit: ValueEdit | undefined;
  /** Whether the dialog initially focuses this value. */
  isFirst: boolean;
  onEdit: (edit: ValueEdit | null) => void;
};

function ValueRow({ name, value, edit, isFirst, onEdit }: ValueRowProps) {
  const [isOpen, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const problem = edit ? problemOf(edit) : null;
  const hasChanged = edit !== undefined && isChanged(value, edit);
  const open = () => {
    if (!edit) onEdit(editOf(value));
    setOpen(!isOpen);
  };
  const undo = () => {
    // Renders synchronously, so that the remaining button can get the focus.
    flushSync(() => {
      onEdit(null);
      setOpen(false);
    });
    toggle.current?.focus();
  };
  return (
    <li className="flex flex-col gap-1 pt-2 pr-2 pb-2 pl-3">
      <div className="flex min-h-7 items-center gap-2">
        <code className="text-small font-semibold wrap-anywhere">{name}</code>
        {hasChanged && <Pill look="changed">changed</Pill>}
        <span className="ml-auto flex flex-none gap-1">
          {hasChanged && (
            <Button
              small
              look="quiet"
              icon={<Undo2 />}
              aria-label={`Undo the change of ${name}`}
              onClick={undo}
            >
              Undo
            </Button>
          )}
          <Button
            ref={toggle}
            small
            autoFocus={isFirst}
            icon={isOpen ? <Check /> : <Pencil />}
            aria-label={isOpen ? `Done with ${name}` : `Edit ${name}`}
            aria-expanded={isOpen}
            disabled={isOpen && problem !== null}
            onClick={open}
          >
            {isOpen ? "Done" : "Edit"}
          </Button>
        </span>
      </div>
      {isOpen && edit ? (
        <Editor name={name} edit={edit} problem={problem} onEdit={onEdit} />
      ) : (
        <Shown name={name} value={edit && problem === null ? valueOf(edit) : value} />
      )}
    </li>
  );
}

type EditorProps = {
  name: string;
  edit: ValueEdit;
  problem: string | null;
  onEdit: (edit: ValueEdit) => void;
};

function Editor({ name, edit, problem, onEdit }: EditorProps) {
  const { isText, text } = edit;
  return (
    <div className="flex flex-col items-start gap-1 [&>div]:w-full">
      <TextArea
        key={String(isText)}
        autoFocus
        code={!isText}
        label={`${name} as ${isText ? "text" : "JSON"}`}
        rows={Math.min(16, Math.max(3, text.split("\n").length + 1))}
        value={text}
        problem={problem}
        onChange={({ target }) => onEdit({ text: target.value, isText })}
      />
      <Button small look="quiet" className="-ml-2" onClick={() => onEdit(switched(edit))}>
        {isText ? "Edit as JSON" : "Edit as text"}
      </Button>
    </div>
  );
}

function Shown({ name, value }: { name: string; value: unknown }) {
  return (
    <div className="min-w-0 text-small text-muted">
      {typeof value === "string" ? (
        <Prose text={value || "“”"} />
      ) : (
        <Value value={value} name={name} />
      )}
    </div>
  );
}
