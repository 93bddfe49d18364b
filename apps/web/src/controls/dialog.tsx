import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import styles from "./dialog.module.css";

type Props = {
  title: string;
  description?: ReactNode;
  isOpen: boolean;
  onClose: () => void;
  /** Wide enough for code. */
  wide?: boolean;
  children: ReactNode;
};

/** A dialog that holds the focus while it is open; Escape closes it. */
export function Dialog({ title, description, isOpen, onClose, wide = false, children }: Props) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Popup className={`${styles.popup} ${wide ? styles.wide : ""}`}>
          <Base.Title className={styles.title}>{title}</Base.Title>
          {description && (
            <Base.Description className={styles.description} render={<div />}>
              {description}
            </Base.Description>
          )}
          {children}
          {/* Last, so that the focus begins at what the dialog is about. */}
          <Base.Close
            className={styles.close}
            render={<Button look="quiet" small icon={<X />} aria-label="Close" />}
          />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** What a dialog holds between its title and its buttons; it scrolls when it is long. */
export function DialogBody({ children }: { children: ReactNode }) {
  return <div className={styles.body}>{children}</div>;
}

/** The buttons at a dialog's foot, the one that does it last. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <footer className={styles.buttons}>{children}</footer>;
}
