import { Menu as Base } from "@base-ui/react/menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

type ListProps = Pick<Base.Positioner.Props, "align" | "anchor"> & Base.Popup.Props;

/** A menu is inside the main landmark, where screen readers expect it. */
const List = ({ align, anchor, ...popup }: ListProps) => (
  <Base.Portal container={document.getElementById("main")}>
    <Base.Positioner className="z-40" anchor={anchor} sideOffset={4} align={align}>
      <Base.Popup
        {...popup}
        className="max-h-(--available-height) max-w-(--available-width) min-w-44 overflow-y-auto rounded-lg border bg-surface p-1 shadow-lg outline-none"
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
  onClosed?: () => void;
  children: ReactNode;
};

/** A menu of an element that is not a button. */
export function MenuAt({ anchor, label, isOpen, onClose, onClosed, children }: AtProps) {
  // The menu would return the focus even after another element has taken it.
  const closed = () => {
    const { activeElement, body } = document;
    const isFree = !activeElement || activeElement === body || activeElement.closest("[role=menu]");
    if (isFree) anchor()?.focus();
    onClosed?.();
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

const item =
  "flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 py-1 select-none data-highlighted:bg-hover data-highlighted:outline-none max-sm:min-h-10";

type ItemProps = {
  icon?: ReactNode;
  danger?: boolean;
  onClick: () => void;
  children: ReactNode;
};

export function MenuItem({ icon, danger = false, onClick, children }: ItemProps) {
  return (
    <Base.Item
      className={`${item} ${danger ? "text-red" : "[&_svg]:text-faint"}`}
      onClick={onClick}
    >
      {icon}
      {children}
    </Base.Item>
  );
}

type ChoiceProps = {
  isOn: boolean;
  /** Whether the menu stays open, because several items can be on. */
  stays?: boolean;
  onClick: () => void;
  children: ReactNode;
};

/** An item that is on or off. */
export const MenuChoice = ({ isOn, stays = false, onClick, children }: ChoiceProps) => (
  <Base.CheckboxItem
    className={item}
    checked={isOn}
    closeOnClick={!stays}
    onCheckedChange={onClick}
  >
    <Check className={`text-accent ${isOn ? "" : "invisible"}`} />
    {children}
  </Base.CheckboxItem>
);

/** A part of a menu with a heading. */
export const MenuGroup = ({ label, children }: { label: string; children: ReactNode }) => (
  <Base.Group className="not-first:mt-1 not-first:border-t not-first:pt-1">
    <Base.GroupLabel className="px-2 py-1 text-small text-faint">{label}</Base.GroupLabel>
    {children}
  </Base.Group>
);
