import { Copy, GitFork, ListTree, RotateCcw } from "lucide-react";
import { useRef } from "react";
import { MenuAt, MenuItem } from "../controls/menu.tsx";
import { roleName } from "../format/role.ts";
import type { GraphNode } from "./role-graph.ts";

/** What a reader can do with a node; each gets the number of a step. */
export type NodeActions = {
  /** The number that the node's step has got when its thread failed at it; null for all others. */
  failedNumber: (node: GraphNode) => number | null;
  onDetails: (number: number) => void;
  onRerun: (number: number) => void;
  onFork: (number: number) => void;
};

type Props = {
  node: GraphNode;
  actions: NodeActions;
  anchor: () => HTMLElement | null;
  isOpen: boolean;
  onClose: () => void;
};

/** What can be done with a node: of one that has not run, its id can be copied. */
export function NodeMenu({ node, actions, anchor, isOpen, onClose }: Props) {
  const { id, label, lastStep } = node;
  const { failedNumber, onDetails, onFork, onRerun } = actions;
  const next = useRef<(() => void) | null>(null);
  const onClosed = () => {
    next.current?.();
    next.current = null;
  };
  const number = failedNumber(node) ?? lastStep;
  return (
    <MenuAt
      anchor={anchor}
      label={roleName(label)}
      isOpen={isOpen}
      onClose={onClose}
      onClosed={onClosed}
    >
      {number !== null && (
        <>
          <MenuItem icon={<ListTree />} onClick={() => onDetails(number)}>
            Details
          </MenuItem>
          <MenuItem icon={<RotateCcw />} onClick={() => (next.current = () => onRerun(number))}>
            Rerun from here…
          </MenuItem>
        </>
      )}
      {lastStep !== null && (
        <MenuItem icon={<GitFork />} onClick={() => (next.current = () => onFork(lastStep))}>
          Fork from here…
        </MenuItem>
      )}
      <MenuItem icon={<Copy />} onClick={() => void navigator.clipboard.writeText(id)}>
        Copy id
      </MenuItem>
    </MenuAt>
  );
}
