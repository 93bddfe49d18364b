import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";

type ListProps = Pick<Base.Positioner.Props, "align" | "anchor"> & Base.Popup.Props;

/** A menu is inside the main landmark, where screen readers expect it. */
const List = ({ align, anchor, ...popup }: ListProps) => (
  <Base.Portal container={document.getElementById("main")}>
    <Base.Positioner className="z-40" anchor={anchor} sideOffset={4} align={align}>
      <Base.Popup
        {...popup}
        className="min-w-44 rounded-[8px] border bg-surface p-1 shadow-lg outline-none"
      />
    </Base.Positioner>
  </Base.Portal>
);

type Props = { trigger: ReactElement; children: ReactNode };

export function Menu({ trigger, children }: Props) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <List align="end">{children}</List>
    </Base.Root>
  );
}

type AtProps = {
  /** Returns the pressed element. The menu opens next to it, and returns the focus to it. */
  anchor: () => HTMLElement | null;
  label: string;
  isOpen: boolean;
  onClose: () => void;
  /** Called after closing, once the focus has returned. */
  onClosed: () => void;
  children: ReactNode;
};

/** A menu of an element that is not a button. */
export function MenuAt({ anchor, label, isOpen, onClose, onClosed, children }: AtProps) {
  // The menu would return the focus after another element may have taken it.
  const closed = () => {
    const { activeElement, body } = document;
    const isFree = !activeElement || activeElement === body || activeElement.closest("[role=menu]");
    if (isFree) anchor()?.focus();
    onClosed();
  };
  return (
    <Base.Root
      modal={false}
      open={isOpen}
      onOpenChange={(open) => !open && onClose()}
      onOpenChangeComplete={(open) => !open && closed()}
    >
      <List align="start" anchor={anchor} aria-label={label} finalFocus={false}>
        {children}
      </List>
    </Base.Root>
  );
}

type ItemProps = {
  icon?: ReactNode;
  danger?: boolean;
  onClick: () => void;
  children: ReactNode;
};

export function MenuItem({ icon, danger = false, onClick, children }: ItemProps) {
  return (
    <Base.Item
      className={`flex cursor-pointer items-center gap-2 rounded-[5px] px-2 py-2 select-none data-highlighted:bg-hover data-highlighted:outline-none ${danger ? "text-red" : "[&_svg]:text-faint"}`}
      onClick={onClick}
    >
      {icon}
      {children}
    </Base.Item>
  );
}
