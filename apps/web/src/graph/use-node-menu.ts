import { type KeyboardEvent, type RefObject, useState } from "react";

const boxes = ".react-flow__node";

/** The node of a drawing that something happened to; null when it happened beside them. */
export const nodeOf = (target: EventTarget): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(boxes) : null;

/** Whether a key opens a node's menu. */
export const opens = ({ key, shiftKey }: KeyboardEvent): boolean =>
  key === "Enter" || key === " " || key === "ContextMenu" || (key === "F10" && shiftKey);

/** Whose menu is open in a drawing, or was last. */
export function useNodeMenu(drawing: RefObject<HTMLElement | null>) {
  const [id, setId] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  return {
    id,
    isOpen,
    // A graph that grows is drawn anew: the node is looked for when it is needed.
    anchor: (): HTMLElement | null => {
      const all = drawing.current?.querySelectorAll<HTMLElement>(boxes) ?? [];
      return [...all].find(({ dataset }) => dataset.id === id) ?? null;
    },
    openAt: (node: HTMLElement) => {
      setId(node.dataset.id ?? null);
      setOpen(true);
    },
    close: () => setOpen(false),
  };
}
