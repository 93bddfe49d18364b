import type { DrawnNode, RunValue } from "@uncaged/workflow/editing";
import { type ReactNode, useContext, useEffect, useEffectEvent, useRef } from "react";
import type { EditedDocument } from "./document/document.ts";
import { focusField, insertAt } from "./form/insert.ts";
import { LastFieldContext } from "./form/last-field.ts";
import { dataPanel, nodePanel } from "./inspector.tsx";

/**
 * The data of a node in the selected run; null if the run has not reached it. `pick` returns a function that inserts a
 * value's expression into the last focused field, or null if no expression refers to the value.
 */
export type DataOf = (node: DrawnNode, pick: (value: RunValue) => (() => void) | null) => ReactNode;

type Given = {
  document: EditedDocument;
  node: DrawnNode | undefined;
  isReadOnly: boolean;
  showPanel: (panel: string) => void;
  dataOf: DataOf | undefined;
  select: (node: string) => void;
};

/** Shows the data of a newly selected node, else its settings. */
export function useNodeData({ document, node, isReadOnly, showPanel, dataOf, select }: Given) {
  const lastField = useContext(LastFieldContext);
  const shown = useRef<string | null>(null);
  const opensNode = (id: string) => {
    shown.current = id;
    showPanel(nodePanel);
  };
  const pick = (picked: RunValue) => {
    const { value } = document.state();
    const field = isReadOnly ? null : lastField.current;
    const expression = document.kind.expressionOf?.(value, picked, field?.node ?? picked.node);
    if (expression === null || expression === undefined) return null;
    return () => {
      const inserted = field && insertAt(document, field, expression);
      if (!inserted) {
        void navigator.clipboard.writeText(expression);
        document.say(`Copied ${expression}. Focus a field first to insert it there.`);
        return;
      }
      lastField.current = inserted;
      opensNode(inserted.node);
      select(inserted.node);
      requestAnimationFrame(() => focusField(inserted));
    };
  };
  const data = (node && dataOf?.(node, pick)) ?? null;
  const id = node?.id ?? null;
  const openData = () => showPanel(data === null ? nodePanel : dataPanel);
  const onSelected = useEffectEvent(() => {
    if (shown.current === id) return;
    shown.current = id;
    if (id !== null) openData();
  });
  useEffect(() => onSelected(), [id]);
  /** `opensNode` shows the settings of the next selected node; `openData` shows the data of the selected node. */
  return { data, opensNode, openData };
}
