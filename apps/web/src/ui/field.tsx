import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { flushSync } from "react-dom";
import { size } from "../lib/format.ts";
import { useKept } from "../lib/kept.ts";
import { ownIn } from "../lib/own.ts";
import { box } from "./search-field.tsx";
import { answerOf, type Draft, type Drafts, type FormField } from "../lib/schema.ts";

type Around = {
  label: ReactNode;
  hint?: ReactNode;
  problem?: string | null;
};

type Wiring = { id: string; "aria-describedby"?: string; "aria-invalid"?: true };

type FieldProps = Around & { children: (wiring: Wiring) => ReactNode };

function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  const note = problem ?? hint;
  const wiring: Wiring = {
    id,
    ...(note !== undefined && note !== null && { "aria-describedby": `${id}-note` }),
    ...(problem && { "aria-invalid": true }),
  };
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label className="font-semibold" htmlFor={id}>
        {label}
      </label>
      {children(wiring)}
      {note && (
        <div id={`${id}-note`} className={`text-small ${problem ? "text-red" : "text-faint"}`}>
          {note}
        </div>
      )}
    </div>
  );
}

type TextProps = Around & ComponentProps<"input"> & { suggestions?: readonly string[] };

/** A single-line field. Suggestions are offered while typing; other values are allowed. */
export function TextField({ label, hint, problem, suggestions = [], ...rest }: TextProps) {
  const list = useId();
  const suggesting = suggestions.length > 0 ? { list } : {};
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(wiring) => (
        <>
          <input type="text" {...rest} {...wiring} {...suggesting} className={`${box} px-2 py-1`} />
          {suggestions.length > 0 && (
            <datalist id={list}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

type AreaProps = Around &
  ComponentProps<"textarea"> & {
    code?: boolean;
    /** The initial text. A very long text can't be edited. */
    original?: string;
  };

/** Maximum number of characters of an editable text. Longer texts would block the page at each key. */
const mostEdited = 200_000;

/** A multi-line field. `code` uses a monospace font without a spell checker. */
export function TextArea({ label, hint, problem, code = false, original, ...rest }: AreaProps) {
  const look = `${box} !min-h-20 resize-y px-2 py-1 ${code ? "code leading-[1.55] tab-2" : ""}`;
  const isLong = original !== undefined && original.length > mostEdited;
  const fixed = isLong && {
    readOnly: true,
    value: `${original.slice(0, mostEdited / 100)}…`,
  };
  const note = isLong
    ? `Too long to edit here (${size(original.length)}). It stays unchanged.`
    : hint;
  return (
    <Field label={label} hint={note} problem={problem}>
      {(wiring) => (
        <textarea spellCheck={!code} {...rest} {...fixed} {...wiring} className={look} />
      )}
    </Field>
  );
}

export function SelectField({ label, hint, problem, ...rest }: Around & ComponentProps<"select">) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(wiring) => <select {...rest} {...wiring} className={`${box} px-2 py-1`} />}
    </Field>
  );
}

type CheckProps = Pick<Around, "label" | "hint"> & ComponentProps<"input">;

export const CheckField = ({ label, hint, ...rest }: CheckProps) => (
  <label className="flex items-start gap-2">
    <input type="checkbox" {...rest} className="mt-0.5 size-4 accent-solid" />
    <span className="min-w-0 wrap-anywhere">
      {label}
      {hint && <span className="block text-small text-faint">{hint}</span>}
    </span>
  </label>
);

/** Shows the problems of a form and focuses the first one. `show` renders them. */
export function showProblems(form: HTMLElement | null, show: () => void): void {
  flushSync(show);
  form?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
}

type Problems = Readonly<Record<string, string>>;

type SchemaFormOptions = {
  /** Identifies the fields' object: another object resets the typed values. */
  of?: string;
  /** Storage key of the typed values: see `useKept`. */
  keep?: string;
  /** Problems of other controls in the form. */
  problems?: Problems;
};

/** A form of fields: controls, value, and problems after the first submit. */
export function useSchemaForm(fields: readonly FormField[], options: SchemaFormOptions = {}) {
  const { of = "", keep = null } = options;
  const [typed, setTyped] = useKept<{ of: string; drafts: Drafts }>(keep, { of, drafts: {} });
  const [isChecked, setChecked] = useState(false);
  const drafts = typed.of === of ? typed.drafts : {};
  const answer = answerOf(fields, drafts);
  const problems = { ...answer.problems, ...options.problems };
  const shown: Problems = isChecked ? problems : {};
  const controls = fields.map((field) => (
    <SchemaField
      key={field.name}
      field={field}
      draft={ownIn(drafts, field.name) ?? field.draft}
      problem={ownIn(shown, field.name)}
      onChange={(draft) => setTyped({ of, drafts: { ...drafts, [field.name]: draft } })}
    />
  ));
  /** Sends the form if it is valid; otherwise focuses the first problem. */
  const submit = (form: HTMLElement | null, send: () => void) => {
    if (Object.keys(problems).length === 0) send();
    else showProblems(form, () => setChecked(true));
  };
  return { controls, value: answer.value, shown, submit };
}

type SchemaFieldProps = {
  field: FormField;
  draft: Draft;
  problem: string | null | undefined;
  onChange: (draft: Draft) => void;
  disabled?: boolean;
  suggestions?: readonly string[];
};

/** The control of one value, by its kind. */
export function SchemaField(props: SchemaFieldProps) {
  const { field, draft, problem, onChange, disabled, suggestions } = props;
  const { kind, label, hint, isRequired, choices } = field;
  if (kind === "boolean") {
    const check = ({ target }: { target: { checked: boolean } }) => onChange(target.checked);
    const checked = draft === true;
    return <CheckField {...{ label, hint, checked, disabled }} onChange={check} />;
  }
  const around = {
    label: isRequired ? label : `${label} (optional)`,
    hint: hint ?? undefined,
    ...{ problem, disabled, value: String(draft) },
  };
  const change = ({ target }: { target: { value: string } }) => onChange(target.value);
  switch (kind) {
    case "choice":
      return (
        <SelectField {...around} onChange={change}>
          {(!isRequired || !choices.some((choice) => JSON.stringify(choice) === draft)) && (
            <option value="">{isRequired ? "Choose…" : "–"}</option>
          )}
          {choices.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {typeof choice === "string" ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </SelectField>
      );
    case "json":
      return <TextArea code rows={4} placeholder="JSON" {...around} onChange={change} />;
    case "long-text":
      return <TextArea rows={4} {...around} onChange={change} />;
    case "number":
    case "integer":
      return <TextField inputMode="decimal" {...around} onChange={change} />;
    default:
      return <TextField suggestions={suggestions} {...around} onChange={change} />;
  }
}
