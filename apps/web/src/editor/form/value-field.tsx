import type { Completion, DocumentPath } from "@uncaged/workflow/editing";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { isRecord } from "../../lib/json.ts";
import { ownIn } from "../../lib/own.ts";
import { isComposing } from "../../lib/kept.ts";
import {
  asSchema,
  type Draft,
  draftOf,
  type FormField,
  type Schema,
  valueOf,
} from "../../lib/schema.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { SchemaField, TextField } from "../../ui/field.tsx";
import { ExpressionField } from "./expression-field.tsx";
import { beginning, controlOf, dotted, isAmong, resolved, suggestionsOf } from "./schema-parts.ts";

/** Values shared by all fields of a form. */
export type FormContext = {
  root: Schema;
  locked: Readonly<Record<string, string>>;
  expressions: readonly string[];
  complete: (path: DocumentPath) => readonly Completion[];
  set: (path: DocumentPath, value: unknown) => void;
};

type Props = {
  form: FormContext;
  schema: unknown;
  name: string;
  path: DocumentPath;
  value: unknown;
  isRequired: boolean;
};

/** The field of one value, by its schema: a control, a group, a list or a map. */
export function ValueField(props: Props) {
  const { form, name, path, value, isRequired } = props;
  const schema = resolved(props.schema, form.root);
  const control = controlOf(name, schema, isRequired);
  const label = typeof schema.title === "string" ? schema.title : name;
  if (control.kind === "field") {
    return <Single {...props} field={control.field} suggestions={suggestionsOf(schema)} />;
  }
  const hint = typeof schema.description === "string" ? schema.description : null;
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      {path.length > 0 && <legend className="mb-1 font-semibold">{label}</legend>}
      {hint !== null && <p className="text-small text-faint">{hint}</p>}
      {control.kind === "group" &&
        control.names.map((one) => (
          <ValueField
            key={one}
            form={form}
            schema={asSchema(schema.properties)[one]}
            name={one}
            path={[...path, one]}
            value={isRecord(value) ? ownIn(value, one) : undefined}
            isRequired={control.required.has(one)}
          />
        ))}
      {control.kind === "list" && (
        <ListItems
          {...props}
          items={control.items}
          label={label}
          list={Array.isArray(value) ? value : []}
        />
      )}
      {control.kind === "map" && (
        <MapItems
          {...props}
          values={control.values}
          label={label}
          map={isRecord(value) ? value : {}}
        />
      )}
    </fieldset>
  );
}

type ItemAction = [label: string, icon: ReactNode, act: () => void];

/** A value of a list or a map. */
type Item = {
  key: string | number;
  name: string;
  schema: unknown;
  value: unknown;
  actions: readonly ItemAction[];
  /** Content above the field of the value. */
  head?: ReactNode;
};

type ItemsProps = Pick<Props, "form" | "path"> & {
  label: string;
  items: readonly Item[];
  onAdd: () => void;
};

const Items = ({ form, path, label, items, onAdd }: ItemsProps) => (
  <>
    {items.map(({ key, actions, head, ...field }, index) => (
      <div key={index} className="flex items-start gap-2 rounded-md border p-2">
        <div className="flex min-w-0 flex-1 flex-col gap-2">
          {head}
          <ValueField {...field} form={form} path={[...path, key]} isRequired />
        </div>
        <div className="flex flex-col">
          {actions.map(([action, icon, act]) => (
            <IconButton key={action} icon={icon} label={action} onClick={act} />
          ))}
        </div>
      </div>
    ))}
    <Button
      small
      className="self-start"
      icon={<Plus />}
      aria-label={`Add to ${label}`}
      onClick={onAdd}
    >
      Add
    </Button>
  </>
);

type ListProps = Props & { items: Schema; label: string; list: readonly unknown[] };

function ListItems({ form, path, items: schema, label, list }: ListProps) {
  const swap = (index: number, other: number) => {
    const next = [...list];
    [next[index], next[other]] = [next[other], next[index]];
    form.set(path, next);
  };
  const add = () => form.set([...path, list.length], beginning(schema, form.root));
  const items = list.map((value, key): Item => {
    const name = `${label} ${key + 1}`;
    const remove: ItemAction = [`Remove ${name}`, <X />, () => form.set([...path, key], undefined)];
    const up: ItemAction = [`Move ${name} up`, <ArrowUp />, () => swap(key, key - 1)];
    const down: ItemAction = [`Move ${name} down`, <ArrowDown />, () => swap(key, key + 1)];
    const moves = [...(key > 0 ? [up] : []), ...(key < list.length - 1 ? [down] : [])];
    return { key, name, schema, value, actions: [remove, ...moves] };
  });
  return <Items {...{ form, path, label, items }} onAdd={add} />;
}

type MapProps = Props & { values: Schema; label: string; map: Readonly<Record<string, unknown>> };

function MapItems({ form, path, values, label, map }: MapProps) {
  const entries = Object.entries(map);
  const rename = (from: string, to: string) => {
    if (to === from || to === "" || Object.hasOwn(map, to)) return;
    const renamed = entries.map(([name, one]) => [name === from ? to : name, one]);
    form.set(path, Object.fromEntries(renamed));
  };
  const free = (): string => {
    let number = entries.length + 1;
    while (Object.hasOwn(map, `name${number}`)) number += 1;
    return `name${number}`;
  };
  const add = () => form.set([...path, free()], beginning(values, form.root));
  const items = entries.map(
    ([name, value], index): Item => ({
      ...{ key: name, name, value },
      schema: typeof value === "string" || isRecord(values.properties) ? withText(values) : {},
      actions: [[`Remove ${name}`, <X />, () => form.set([...path, name], undefined)]],
      head: <NameField name={name} label={`Name ${index + 1} of ${label}`} onRename={rename} />,
    }),
  );
  return <Items {...{ form, path, label, items }} onAdd={add} />;
}

/** The schema of a map's values. Without one, values are strings, usually expressions. */
const withText = (values: Schema): Schema =>
  Object.keys(values).length === 0 ? { type: "string" } : values;

type NameProps = { name: string; label: string; onRename: (from: string, to: string) => void };

function NameField({ name, label, onRename }: NameProps) {
  const [typed, setTyped] = useState<{ text: string; of: string } | null>(null);
  const text = typed?.of === name ? typed.text : name;
  return (
    <TextField
      label={label}
      value={text}
      onChange={({ target }) => setTyped({ text: target.value, of: name })}
      onBlur={() => onRename(name, text.trim())}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !isComposing(event)) onRename(name, text.trim());
      }}
    />
  );
}

type SingleProps = Props & { field: FormField; suggestions: readonly string[] };

type Typed = { text: string; of: string };

/** A single control. Invalid input stays in the control and does not reach the document. */
function Single({ form, path, value, isRequired, field, suggestions }: SingleProps) {
  const shown = String(draftOf(field.kind, value));
  const [typed, setTyped] = useState<Typed | null>(null);
  const text = typed?.of === shown ? typed.text : shown;
  const { problem = null } = readText(field, text, isRequired);
  const reason = ownIn(form.locked, dotted(path));
  const take = (next: string) => {
    const read = readText(field, next, isRequired);
    const isValid = read.problem === undefined;
    setTyped({ text: next, of: isValid ? String(draftOf(field.kind, read.value)) : shown });
    if (isValid) form.set(path, read.value);
  };
  const around = {
    field: { ...field, isRequired, hint: reason ?? field.hint },
    problem: typed === null ? null : problem,
    disabled: reason !== undefined,
  };
  if (field.kind === "boolean") {
    const check = (draft: Draft) =>
      form.set(path, draft === true || isRequired ? draft : undefined);
    return <SchemaField {...around} draft={value === true} onChange={check} />;
  }
  if (!isText(field) || !isAmong(path, form.expressions)) {
    const change = (draft: Draft) => take(String(draft));
    return <SchemaField {...around} draft={text} suggestions={suggestions} onChange={change} />;
  }
  return (
    <ExpressionField
      label={isRequired ? field.label : `${field.label} (optional)`}
      hint={around.field.hint ?? undefined}
      problem={around.problem}
      disabled={around.disabled}
      value={text}
      data-path={JSON.stringify(path)}
      onValue={take}
      complete={() => form.complete(path)}
    />
  );
}

const isText = ({ kind }: FormField): boolean => kind === "text" || kind === "long-text";

/** The value of a text. Unlike in a dialog, a required field may be empty: the check of the document reports it. */
function readText(field: FormField, text: string, isRequired: boolean): ReturnType<typeof valueOf> {
  if (isText(field)) return { value: text === "" && !isRequired ? undefined : text };
  const isJson = field.kind === "choice" || field.kind === "json";
  return text === "" && (isJson || !isRequired) ? {} : valueOf({ ...field, isRequired }, text);
}
