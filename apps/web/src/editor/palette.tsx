import { useRef } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog, DialogBody } from "../ui/dialog.tsx";
import { draggedType, nodeElement } from "./canvas/canvas.tsx";
import { useEdited } from "./document/use-document.ts";

type Props = {
  /** Adds a node and returns its id. */
  onAdd: (type: string) => string | null;
};

/** The types of nodes, to drag or press. */
export function Palette({ onAdd }: Props) {
  const { palette } = useEdited().kind;
  return (
    <div
      className="flex w-max min-w-30 flex-none flex-col gap-1 overflow-y-auto border-r bg-surface p-2 max-lg:w-10 max-lg:min-w-0"
      role="group"
      aria-label="Add a node"
    >
      {palette
        .filter(({ isHidden }) => !isHidden)
        .map(({ type, label, icon: Icon, hint, key }) => (
          <button
            key={type}
            type="button"
            draggable
            title={`${hint} (a ${key})`}
            className="flex flex-none cursor-grab items-center gap-2 rounded-md border bg-surface px-2 py-2 text-left text-small font-semibold hover:bg-hover max-lg:justify-center max-lg:px-1"
            onClick={() => onAdd(type)}
            onDragStart={({ dataTransfer }) => {
              dataTransfer.setData(draggedType, type);
              dataTransfer.effectAllowed = "copy";
            }}
          >
            <Icon className="text-accent" />
            <span className="max-lg:sr-only">{label}</span>
          </button>
        ))}
    </div>
  );
}

type DialogProps = Props & { isOpen: boolean; onClose: () => void };

/** The palette as a dialog: the key `a` opens it, and the letter of a type adds a node. */
export function AddDialog({ isOpen, onClose, onAdd }: DialogProps) {
  const { palette } = useEdited().kind;
  const shown = palette.filter(({ isHidden }) => !isHidden);
  const added = useRef<string | null>(null);
  const add = (type: string) => {
    added.current = onAdd(type);
    onClose();
  };
  return (
    <Dialog
      title="Add a node"
      isOpen={isOpen}
      onClose={() => {
        added.current = null;
        onClose();
      }}
      focusAfter={() => (added.current === null ? null : nodeElement(added.current))}
    >
      <DialogBody>
        <div
          className="grid grid-cols-2 gap-2"
          onKeyDown={({ key }) => {
            const item = shown.find((one) => one.key === key);
            if (item) add(item.type);
          }}
        >
          {shown.map(({ type, label, icon: Icon, key }) => (
            <Button key={type} className="!justify-start" icon={<Icon />} onClick={() => add(type)}>
              <span className="flex-1 text-left">{label}</span>
              <kbd className="text-faint">{key}</kbd>
            </Button>
          ))}
        </div>
      </DialogBody>
    </Dialog>
  );
}
