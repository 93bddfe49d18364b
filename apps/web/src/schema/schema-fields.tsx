import { CheckField, SelectField, TextArea, TextField } from "../controls/field.tsx";
import type { Draft, Drafts, FormField } from "./fields.ts";
import { ownIn } from "./json.ts";

type Props = {
  fields: readonly FormField[];
  drafts: Drafts;
  problems: Readonly<Record<string, string>>;
  onChange: (drafts: Drafts) => void;
};

/** The controls of a form that was made from a schema. */
export function SchemaFields({ fields, drafts, problems, onChange }: Props) {
  return fields.map((field) => (
    <SchemaField
      key={field.name}
      field={field}
      draft={ownIn(drafts, field.name) ?? field.draft}
      problem={ownIn(problems, field.name)}
      onChange={(draft) => onChange({ ...drafts, [field.name]: draft })}
    />
  ));
}

type FieldProps = {
  field: FormField;
  draft: Draft;
  problem: string | undefined;
  onChange: (draft: Draft) => void;
};

function SchemaField({ field, draft, problem, onChange }: FieldProps) {
  const { kind, label, hint, isRequired, choices } = field;
  if (kind === "boolean") {
    return (
      <CheckField
        label={label}
        hint={hint}
        checked={draft === true}
        onChange={({ target }) => onChange(target.checked)}
      />
    );
  }
  const around = {
    label: isRequired ? label : `${label} (optional)`,
    hint: hint ?? undefined,
    problem,
    value: String(draft),
  };
  const change = ({ target }: { target: { value: string } }) => onChange(target.value);
  switch (kind) {
    case "choice":
      return (
        <SelectField {...around} onChange={change}>
          <option value="">{isRequired ? "Choose…" : "–"}</option>
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
      return <TextField {...around} onChange={change} />;
  }
}
