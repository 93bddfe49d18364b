import { Dialog as Base } from "@base-ui/react/dialog";
import { useMutation } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, type SubmitEvent, useRef } from "react";
import { Button } from "./button.tsx";
import { IconButton } from "./icon-button.tsx";
import { FailureNotice } from "./states.tsx";

type Props = {
  title: string;
  description?: ReactNode;
  isOpen: boolean;
  onClose: () => void;
  wide?: boolean;
  /** The element to focus after closing; by default the previously focused element. */
  focusAfter?: () => HTMLElement | null;
  children: ReactNode;
};

/** A modal dialog. Escape closes it; so does a press outside, unless typed text would be lost. */
export function Dialog(props: Props) {
  const { title, description, isOpen, onClose, wide = false, focusAfter, children } = props;
  const isTyped = useRef(false);
  const change = (open: boolean, { reason }: { reason: string }) => {
    if (open || (reason === "outside-press" && isTyped.current)) return;
    onClose();
  };
  return (
    <Base.Root
      open={isOpen}
      onOpenChange={change}
      // Resets after closing, because the user may type before the opening is complete.
      onOpenChangeComplete={(open) => {
        if (!open) isTyped.current = false;
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-50 bg-[light-dark(#15151c66,#000000a6)] transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Base.Popup
          className={`panel fixed top-1/2 left-1/2 z-51 flex max-h-[min(46rem,100dvh-2rem)] -translate-1/2 flex-col shadow-lg transition-[opacity,scale] duration-120 outline-none data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0 ${wide ? "w-[min(52rem,100vw-1.5rem)]" : "w-[min(34rem,100vw-1.5rem)]"}`}
          finalFocus={() => focusAfter?.() ?? true}
          onInput={() => (isTyped.current = true)}
        >
          <Base.Title className="pt-4 pr-12 pb-2 pl-5 text-title font-semibold wrap-anywhere">
            {title}
          </Base.Title>
          {description && (
            <Base.Description className="px-5 pb-2 text-muted" render={<div />}>
              {description}
            </Base.Description>
          )}
          {children}
          {/* Last, so that the focus starts at the content. */}
          <Base.Close
            className="absolute top-3 right-3"
            render={<IconButton icon={<X />} label="Close" />}
          />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

export function DialogBody({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-0 flex-col gap-4 overflow-y-auto px-5 pt-2 pb-4">{children}</div>
  );
}

type FormProps = {
  action: string;
  look?: "solid" | "danger";
  icon?: ReactNode;
  work?: { isPending: boolean; error: Error | null };
  isDisabled?: boolean;
  onSubmit: (form: HTMLElement) => void;
  onClose: () => void;
  children: ReactNode;
};

/** The form of a dialog with its buttons. A failure is shown and keeps the dialog open. */
export function DialogForm(props: FormProps) {
  const { action, look = "solid", icon, work, isDisabled, onSubmit, onClose, children } = props;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onSubmit(event.currentTarget);
  };
  return (
    <form onSubmit={submit} className="flex min-h-0 flex-col" noValidate>
      <DialogBody>{children}</DialogBody>
      <footer className="flex flex-wrap justify-end gap-2 border-t px-5 py-3">
        {work?.error && (
          <div className="max-h-[40dvh] basis-full overflow-y-auto">
            <FailureNotice error={work.error} />
          </div>
        )}
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look={look}
          type="submit"
          icon={icon}
          isBusy={work?.isPending}
          disabled={isDisabled}
        >
          {action}
        </Button>
      </footer>
    </form>
  );
}

type KeysProps = {
  title: string;
  /** Keys and their actions. Two blanks separate alternative keys. */
  keys: readonly (readonly [string, string])[];
  isOpen: boolean;
  onClose: () => void;
  children?: ReactNode;
};

export const KeysDialog = ({ keys, children, ...dialog }: KeysProps) => (
  <Dialog {...dialog}>
    <DialogBody>
      <dl className="grid gap-2">
        {keys.map(([key, what]) => (
          <div key={key} className="grid grid-cols-[11.5rem_1fr] items-center">
            <dt className="flex gap-1">
              {key.split(/ {2}/).map((one) => (
                <kbd
                  key={one}
                  className="min-w-6 rounded-sm border border-b-2 border-line-strong bg-sunken px-2 py-px text-center"
                >
                  {one}
                </kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      {children}
    </DialogBody>
  </Dialog>
);

type ConfirmProps = {
  title: string;
  children: ReactNode;
  action: string;
  look?: "solid" | "danger";
  isOpen: boolean;
  onClose: () => void;
  perform: () => Promise<unknown>;
};

/** A dialog that confirms an action, by default an irreversible one. */
export function Confirm({ title, isOpen, onClose, perform, ...form }: ConfirmProps) {
  const done = useMutation({ mutationFn: perform, onSuccess: onClose });
  const send = () => done.mutate();
  // A reopened dialog must not show an earlier failure.
  const close = () => {
    done.reset();
    onClose();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <DialogForm look="danger" {...form} work={done} onSubmit={send} onClose={close} />
    </Dialog>
  );
}
