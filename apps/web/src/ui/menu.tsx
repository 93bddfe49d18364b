import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";

type ListProps = Pick<Base.Positioner.Props, "align" | "anchor"> & Base.Popup.Props;

/** A menu lies in the page's content, as what it is about: a reader who goes by landmarks finds it. */
const List = ({ align, anchor, ...popup }: ListProps) => (
  <Base.Portal container={document.getElementById("main")}>
    <Base.Positioner className="z-40" anchor={anchor} sideOffset={4} align={align}>
      <Base.Popup
        {...popup}
        className="min-w-110 rounded-[8px] border bg-surface p-2.5 shadow-lg outline-none"
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
  /** Finds what was pressed: the menu is placed at it, and the focus goes back to it. */
  anchor: () => HTMLElement | null;
  label: string;
  isOpen: boolean;
  onClose: () => void;
  /** It is closed and the focus is back: the time for what takes the focus. */
  onClosed: () => void;
  children: ReactNode;
};

/** A list of things to do with something that is no button. */
export function MenuAt({ anchor, label, isOpen, onClose, onClosed, children }: AtProps) {
  // On its own the menu gives the focus back only when something else may have it already.
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
      className={`flex cursor-pointer items-center gap-5.5 rounded-[5px] px-6 py-4 select-none data-highlighted:bg-hover data-highlighted:outline-none ${danger ? "text-red" : "[&_svg]:text-faint"}`}
      onClick={onClick}
    >
      {icon}
      {children}
    </Base.Item>
  );
}
