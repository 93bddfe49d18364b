import { Check, Eye, EyeOff, Pencil, Undo2 } from "lucide-react";
import { useRef, useState } from "react";
import { flushSync } from "react-dom";
import { Button } from "../controls/button.tsx";
import { TextArea } from "../controls/field.tsx";
import { size } from "../format/amount.ts";
import { laidOut } from "../schema/json.ts";
import styles from "./fork.module.css";
import { type Edit, editOf, isChanged, mostShown, problemOf, switched, valueOf } from "./values.ts";

type Props = {
  name: string;
  /** As it stood there. */
  value: unknown;
  edit: Edit | undefined;
  /** Whether the dialog begins here. */
  isFirst: boolean;
  onEdit: (edit: Edit | null) => void;
};

/** A value with its name, to be looked at, edited, and taken back. */
export function ValueRow({ name, value, edit, isFirst, onEdit }: Props) {
  const [isOpen, setOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const problem = edit ? problemOf(edit) : null;
  const hasChanged = edit !== undefined && isChanged(value, edit);
  const open = () => {
    if (!edit) onEdit(editOf(value));
    setOpen(!isOpen);
  };
  const undo = () => {
    // The focus goes to the button that stays, which may not be pressed before.
    flushSync(() => {
      onEdit(null);
      setOpen(false);
    });
    toggle.current?.focus();
  };
  return (
    <li className={styles.value}>
      <div className={styles.line}>
        <code className={styles.name}>{name}</code>
        {hasChanged && <span className={styles.changed}>changed</span>}
        <span className={styles.acts}>
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
  edit: Edit;
  problem: string | null;
  onEdit: (edit: Edit) => void;
};

function Editor({ name, edit, problem, onEdit }: EditorProps) {
  const { isText, text } = edit;
  return (
    <div className={styles.editor}>
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
      <Button small look="quiet" onClick={() => onEdit(switched(edit))}>
        {isText ? "Edit as JSON" : "Edit as text"}
      </Button>
    </div>
  );
}

/** What is no longer than this stands there at once. */
const mostAtOnce = 600;

function Shown({ name, value }: { name: string; value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  const json = JSON.stringify(value);
  const isLong = json.length > mostAtOnce;
  const text = textOf(value, json);
  return (
    <div className={styles.shown}>
      {isLong && (
        <span className={styles.size}>
          ({size(json.length)})
          <Button
            small
            look="quiet"
            icon={isWhole ? <EyeOff /> : <Eye />}
            aria-label={isWhole ? `Hide ${name}` : `View ${name}`}
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? "Hide" : "View"}
          </Button>
        </span>
      )}
      {isLong && isWhole && (
        <pre className={styles.whole} tabIndex={0} aria-label={name}>
          {text}
        </pre>
      )}
      {isLong && !isWhole && json.length <= mostShown && (
        <code className={styles.text}>{text.slice(0, 200)}…</code>
      )}
      {!isLong && <code className={styles.text}>{text}</code>}
    </div>
  );
}

const shortest = 72;

function textOf(value: unknown, json: string): string {
  if (typeof value === "string") return value === "" ? "“”" : value;
  return laidOut(value, shortest) ?? json;
}
