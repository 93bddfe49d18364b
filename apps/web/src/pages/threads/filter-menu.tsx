import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ThreadFilter, lengthOf, timeOf } from "../../lib/thread-filter.ts";
import { historyQuery, workflowsQuery } from "../../lib/workflows.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { showProblems, TextField } from "../../ui/field.tsx";
import { MenuAt, MenuChoice, MenuItem } from "../../ui/menu.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { choicesOf, cleared, type FilterName } from "./filter.ts";

type Props = {
  of: FilterName;
  filter: ThreadFilter;
  anchor: () => HTMLElement | null;
  isOpen: boolean;
  onChange: (change: ThreadFilter) => void;
  onClose: () => void;
};

/** The menu of a filter, and the dialog for custom values. */
export function FilterMenu({ of, filter, anchor, isOpen, onChange, onClose }: Props) {
  const [isCustom, setCustom] = useState(false);
  const workflows = useQuery({ ...workflowsQuery, enabled: isOpen && of === "Workflow" });
  const { workflow = "" } = filter;
  const versions = useQuery({
    ...historyQuery(workflow),
    enabled: isOpen && of === "Version" && workflow !== "",
  });
  const choices = choicesOf(of, filter, {
    workflows: workflows.data?.map(({ name }) => name) ?? [],
    versions: versions.data ?? [],
  });
  const error = workflows.error ?? versions.error;
  return (
    <>
      <MenuAt anchor={anchor} label={of} isOpen={isOpen} onClose={onClose}>
        {error && <FailureNotice error={error} />}
        {choices.map(({ text, isOn, change }) => (
          <MenuChoice
            key={text}
            isOn={isOn}
            stays={of === "Status"}
            onClick={() =>
              onChange(isOn && of !== "Status" ? cleared(Object.keys(change)) : change)
            }
          >
            {text}
          </MenuChoice>
        ))}
        {customs[of] && <MenuItem onClick={() => setCustom(true)}>Custom…</MenuItem>}
      </MenuAt>
      <Dialog title={of} isOpen={isCustom} onClose={() => setCustom(false)} focusAfter={anchor}>
        <Custom
          fields={customs[of] ?? []}
          filter={filter}
          onClose={() => setCustom(false)}
          onChange={onChange}
        />
      </Dialog>
    </>
  );
}

type CustomField = {
  name: "since" | "until" | "worked" | "cost";
  label: string;
  type: "datetime-local" | "text" | "number";
  hint?: string;
  read: (text: string) => string | number | null;
};

/** A local time as a moment in UTC without seconds. */
function readMoment(text: string): string | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : `${new Date(at).toISOString().slice(0, 16)}Z`;
}

const customs: Partial<Record<FilterName, readonly CustomField[]>> = {
  Since: [
    { name: "since", label: "From", type: "datetime-local", read: readMoment },
    { name: "until", label: "To", type: "datetime-local", read: readMoment },
  ],
  Duration: [
    {
      name: "worked",
      label: "At least",
      type: "text",
      hint: "A number with s, m, h or d: 90s, 10m",
      read: (text) => (lengthOf(text) === null ? null : text.trim()),
    },
  ],
  Cost: [
    {
      name: "cost",
      label: "At least, in US dollars",
      type: "number",
      read: (text) => (Number(text) > 0 ? Number(text) : null),
    },
  ],
};

/** A moment of the address as the value of a field, in local time. */
function fieldTextOf(field: CustomField, filter: ThreadFilter): string {
  const value = filter[field.name];
  if (value === undefined) return "";
  if (field.type !== "datetime-local") return String(value);
  const at = timeOf(String(value), Date.now());
  if (at === null) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

type CustomProps = {
  fields: readonly CustomField[];
  filter: ThreadFilter;
  onClose: () => void;
  onChange: (change: ThreadFilter) => void;
};

function Custom({ fields, filter, onClose, onChange }: CustomProps) {
  const [invalid, setInvalid] = useState<readonly string[]>([]);
  const submit = (form: HTMLElement) => {
    const typed = new FormData(form as HTMLFormElement);
    const change = fields.map(({ name, read }) => {
      const text = typed.get(name);
      // The browser returns an empty text for an invalid number or an incomplete time.
      const none = form.querySelector(`[name=${name}]:invalid`) ? null : undefined;
      return [name, typeof text === "string" && text !== "" ? read(text) : none] as const;
    });
    const wrong = change.flatMap(([name, value]) => (value === null ? [name] : []));
    if (wrong.length > 0) return showProblems(form, () => setInvalid(wrong));
    onChange(Object.fromEntries(change));
    onClose();
  };
  return (
    <DialogForm action="Apply" onSubmit={submit} onClose={onClose}>
      {fields.map((field) => (
        <TextField
          key={field.name}
          name={field.name}
          label={field.label}
          type={field.type}
          hint={field.hint}
          step="any"
          defaultValue={fieldTextOf(field, filter)}
          problem={invalid.includes(field.name) ? "This is not valid." : null}
        />
      ))}
    </DialogForm>
  );
}
