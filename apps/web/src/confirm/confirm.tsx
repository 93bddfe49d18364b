import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FailureNotice } from "../states/failure.tsx";
import { Button } from "../controls/button.tsx";
import { Dialog, DialogBody, DialogButtons } from "../controls/dialog.tsx";

type Props = {
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** The button that does it. */
  action: string;
  isOpen: boolean;
  onClose: () => void;
  /** What it does; its failure is shown, and the dialog stays. */
  perform: () => Promise<unknown>;
};

/** Asks before something is done that can't be undone. */
export function Confirm({ title, children, action, isOpen, onClose, perform }: Props) {
  const done = useMutation({ mutationFn: perform, onSuccess: onClose });
  // What failed once is not told when it is asked again.
  const close = () => {
    done.reset();
    onClose();
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close}>
      <DialogBody>
        {children}
        {done.error && <FailureNotice error={done.error} />}
      </DialogBody>
      <DialogButtons>
        <Button onClick={close}>Cancel</Button>
        <Button look="danger" isBusy={done.isPending} onClick={() => done.mutate()}>
          {action}
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
