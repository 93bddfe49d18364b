import { useState } from "react";
import { useStored } from "../../lib/stored.ts";
import type { ThreadFilter } from "../../lib/thread-filter.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { showProblems, TextField } from "../../ui/field.tsx";
import { builtIn, chipsOf, keepViews, viewsIn, viewsKey } from "./filter.ts";

type Props = { filter: ThreadFilter; isOpen: boolean; onClose: () => void };

export const SaveView = ({ filter, isOpen, onClose }: Props) => (
  <Dialog title="Save view" isOpen={isOpen} onClose={onClose}>
    <Form filter={filter} onClose={onClose} />
  </Dialog>
);

function Form({ filter, onClose }: Omit<Props, "isOpen">) {
  const [name, setName] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isChecked, setChecked] = useState(false);
  const saved = viewsIn(useStored(viewsKey));
  const taken = [...builtIn, ...saved].some((view) => view.name === name.trim());
  const problem =
    name.trim() === "" ? "This must be filled in." : taken ? "A view has this name." : null;
  const submit = (form: HTMLElement) => {
    if (problem) return showProblems(form, () => setChecked(true));
    if (keepViews([...saved, { name: name.trim(), filter }])) onClose();
    else
      setError(new Error("this browser can't store the view: it lasts until you leave the page"));
  };
  return (
    <DialogForm
      action="Save"
      work={{ isPending: false, error }}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField
        label="Name"
        maxLength={40}
        value={name}
        hint={chipsOf(filter)
          .map((chip) => `${chip.name} ${chip.text}`)
          .join(", ")}
        problem={isChecked ? problem : null}
        onChange={({ target }) => setName(target.value)}
      />
    </DialogForm>
  );
}
