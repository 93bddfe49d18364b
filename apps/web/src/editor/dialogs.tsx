import type { DrawnNode, PortAt } from "@uncaged/workflow/editing";
import { useState } from "react";
import { Dialog, DialogForm, KeysDialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/field.tsx";
import { useEdited } from "./document/use-document.ts";

type ConnectProps = {
  node: DrawnNode;
  nodes: readonly DrawnNode[];
  onClose: () => void;
  onConnect: (from: PortAt, to: PortAt) => void;
};

const encoded = (at: PortAt): string => JSON.stringify(at);

/** Connects two ports without a mouse. */
export function ConnectDialog({ isOpen, ...props }: ConnectProps & { isOpen: boolean }) {
  return (
    <Dialog title={`Connect ${props.node.title}`} isOpen={isOpen} onClose={props.onClose}>
      <ConnectForm {...props} />
    </Dialog>
  );
}

function ConnectForm({ node, nodes, onClose, onConnect }: ConnectProps) {
  const outs = node.ports.filter(({ role, isOpen }) => role === "out" && isOpen);
  const targets = nodes.flatMap(({ id, title, ports }) =>
    ports
      .filter(({ role, isOpen }) => role === "in" && isOpen && id !== node.id)
      .map((port, _, all) => ({
        at: { node: id, port: port.id },
        label: all.length > 1 ? `${title} (${port.label ?? port.hint ?? port.id})` : title,
      })),
  );
  const [port, setPort] = useState("");
  const [target, setTarget] = useState("");
  const from = outs.find(({ id }) => id === port) ?? outs[0];
  const to = targets.find(({ at }) => encoded(at) === target) ?? targets[0];
  return (
    <DialogForm
      action="Connect"
      isDisabled={!from || !to}
      onClose={onClose}
      onSubmit={() => {
        onClose();
        if (from && to) onConnect({ node: node.id, port: from.id }, to.at);
      }}
    >
      {!from && <p>No line can start at this node.</p>}
      {!to && <p>No other nodes.</p>}
      {from && to && (
        <>
          <SelectField
            label="From"
            value={from.id}
            onChange={({ target: { value } }) => setPort(value)}
          >
            {outs.map(({ id, label, hint }) => (
              <option key={id} value={id}>
                {label ?? hint ?? id}
              </option>
            ))}
          </SelectField>
          <SelectField
            label="To"
            value={encoded(to.at)}
            onChange={({ target: { value } }) => setTarget(value)}
          >
            {targets.map(({ at, label }) => (
              <option key={encoded(at)} value={encoded(at)}>
                {label}
              </option>
            ))}
          </SelectField>
        </>
      )}
    </DialogForm>
  );
}

const keys: readonly (readonly [string, string])[] = [
  ["Tab", "To the next node"],
  ["Space", "Add to the selection, or remove from it"],
  ["Arrows", "Move the selection (with Shift farther), or the drawing"],
  ["a", "Add a node"],
  ["c", "Draw a line from the node"],
  ["Enter  F2", "Open the node, edit its fields"],
  ["Delete", "Delete the selection"],
  ["Ctrl+Z  Ctrl+Y", "Undo, redo"],
  ["Ctrl+C  Ctrl+X  Ctrl+V", "Copy, cut, paste"],
  ["Ctrl+D", "Duplicate"],
  ["Ctrl+A  Esc", "Select all, none"],
  ["Ctrl+S", "Save"],
  ["l", "Lay out all"],
  ["/", "Find a node"],
  ["+  -", "Zoom in, out"],
  ["0  1", "Zoom to 100 %, show all"],
  ["Shift+F10", "Open the node's menu"],
];

export function EditorKeys({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { kind } = useEdited();
  const { value, drawing } = useEdited().state();
  const [first] = drawing.nodes;
  const own = kind.actions?.(value, first ? [first.id] : []) ?? [];
  const more = own.flatMap(({ key, label }) => (key === undefined ? [] : [[key, label] as const]));
  const title = "Keys of the editor";
  return <KeysDialog title={title} keys={[...keys, ...more]} isOpen={isOpen} onClose={onClose} />;
}
