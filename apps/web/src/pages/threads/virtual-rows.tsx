import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useState } from "react";
import { Spacer, useListKeys } from "../../ui/page.tsx";
import type { RowsProps } from "./thread-row.tsx";

const nearEnd = 30;

/** The visible rows of a list. */
export function VirtualRows({ rows, list, hasMore, onEnd, draw }: RowsProps) {
  const [top, setTop] = useState(0);
  // Elements above the table may grow.
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0));
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => 56,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.threadId ?? index,
  });
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastSeen >= rows.length - nearEnd) onEnd();
  });
  useListKeys({
    list,
    target: "a",
    length: rows.length,
    show: (index) => virtual.scrollToIndex(index),
  });
  return (
    <>
      <Spacer height={virtual.getTotalSize()} />
      {items.map(({ index, start }) =>
        draw(index, { measure: virtual.measureElement, offset: start - top }),
      )}
    </>
  );
}
