import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { useRef, useState } from "react";

export type Selection = {
  /** The selected rows, in the order of the list. */
  rows: readonly ThreadRow[];
  has: (row: ThreadRow) => boolean;
  /** Selects or deselects a row. With `isRange`, also sets all rows between this row and the last toggled row. */
  toggle: (index: number, isRange: boolean) => void;
  toggleAll: () => void;
  clear: () => void;
};

/** Selected rows of a list. Rows that leave the list are no longer selected. */
export function useSelection(all: readonly ThreadRow[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const rows = ids.size === 0 ? [] : all.filter(({ threadId }) => ids.has(threadId));
  return {
    rows,
    has: ({ threadId }) => ids.has(threadId),
    toggle: (index, isRange) => {
      const start = isRange ? all.findIndex(({ threadId }) => threadId === last.current) : -1;
      const from = start < 0 ? index : start;
      const picked = all.slice(Math.min(from, index), Math.max(from, index) + 1);
      const next = new Set(ids);
      const id = all[from]?.threadId ?? "";
      const isOn = start < 0 ? !ids.has(id) : ids.has(id);
      for (const { threadId } of picked) {
        if (isOn) next.add(threadId);
        else next.delete(threadId);
      }
      last.current = all[index]?.threadId ?? null;
      setIds(next);
    },
    toggleAll: () =>
      setIds(new Set(rows.length === all.length ? [] : all.map(({ threadId }) => threadId))),
    clear: () => setIds(new Set()),
  };
}
