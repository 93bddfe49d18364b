import { Copy, GitFork, ListTree, RotateCcw } from "lucide-react";
import { type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { roleName } from "../../lib/format.ts";
import type { ForkPoint } from "../../lib/threads.ts";
import { MenuAt, MenuItem } from "../../ui/menu.tsx";
import type { GraphNode } from "./graph.ts";

export type NodeActions = {
  /** The step number of the node if the thread failed at it; null otherwise. */
  failedNumber: (node: GraphNode) => number | null;
  onDetails: (number: number) => void;
  onForkPoint: (point: ForkPoint) => void;
  /** False if the thread has moved to another host. */
  canRerun: boolean;
};

type Props = { node: GraphNode; actions: NodeActions; menu: ReturnType<typeof useNodeMenu> };

/** The menu of a node. Without attempts, the menu only offers to copy the id. */
export function NodeMenu({ node, actions, menu }: Props) {
  const { id, label, lastStep } = node;
  const { failedNumber, onDetails, onForkPoint, canRerun } = actions;
  const next = useRef<ForkPoint | null>(null);
  const onClosed = () => {
    if (next.current) onForkPoint(next.current);
    next.current = null;
  };
  const number = failedNumber(node) ?? lastStep;
  return (
    <MenuAt
      anchor={menu.anchor}
      label={roleName(label)}
      isOpen={menu.isOpen}
      onClose={menu.close}
      onClosed={onClosed}
    >
      {number !== null && (
        <>
          <MenuItem icon={<ListTree />} onClick={() => onDetails(number)}>
            Details
          </MenuItem>
          {canRerun && (
            <MenuItem
              icon={<RotateCcw />}
              onClick={() => (next.current = { kind: "rerun", number })}
            >
              Rerun from here…
            </MenuItem>
          )}
        </>
      )}
      {lastStep !== null && (
        <MenuItem
          icon={<GitFork />}
          onClick={() => (next.current = { kind: "fork", number: lastStep })}
        >
          Fork from here…
        </MenuItem>
      )}
      <MenuItem icon={<Copy />} onClick={() => void navigator.clipboard.writeText(id)}>
        Copy id
      </MenuItem>
    </MenuAt>
  );
}

const boxes = ".react-flow__node";

export const nodeOf = (target: EventTarget): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>(boxes) : null;

export const opens = ({ key, shiftKey }: KeyboardEvent): boolean =>
  key === "Enter" || key === " " || key === "ContextMenu" || (key === "F10" && shiftKey);

export function useNodeMenu(drawing: RefObject<HTMLElement | null>) {
  const [id, setId] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  return {
    id,
    isOpen,
    // Found on demand, because a growing graph replaces its elements.
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
