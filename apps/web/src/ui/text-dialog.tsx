import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Dialog, DialogForm } from "./dialog.tsx";
import { showProblems, TextField } from "./field.tsx";

type FormProps = {
  label: string;
  hint?: ReactNode;
  action: string;
  initial?: string;
  suggestions?: readonly string[];
  /** The problem of a text; null for a valid text. */
  problemOf: (text: string) => string | null;
  /** Whether a problem is shown, and disables the button, while the user types. By default, it is shown on sending. */
  checksTyping?: boolean;
  perform: (text: string) => unknown;
  onClose: () => void;
};

/** A dialog that asks for a line of text. A failure keeps it open. */
export const TextDialog = ({
  title,
  isOpen,
  ...form
}: FormProps & { title: string; isOpen: boolean }) => (
  <Dialog title={title} isOpen={isOpen} onClose={form.onClose}>
    <Form {...form} />
  </Dialog>
);

function Form(props: FormProps) {
  const { action, initial = "", problemOf, checksTyping = false, perform, onClose } = props;
  const { label, hint, suggestions } = props;
  const [typed, setTyped] = useState(initial);
  const [isChecked, setChecked] = useState(checksTyping);
  const text = typed.trim();
  const problem = problemOf(text);
  const work = useMutation({ mutationFn: async () => await perform(text), onSuccess: onClose });
  return (
    <DialogForm
      action={action}
      work={work}
      isDisabled={checksTyping && problem !== null}
      onSubmit={(form) => {
        if (problem === null) work.mutate();
        else showProblems(form, () => setChecked(true));
      }}
      onClose={onClose}
    >
      <TextField
        {...{ label, hint, suggestions }}
        value={typed}
        problem={isChecked ? problem : null}
        onChange={({ target }) => setTyped(target.value)}
      />
    </DialogForm>
  );
}
