import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { SourceLine } from "./line.tsx";
import styles from "./source.module.css";
import { tokensOf } from "./tokens.ts";

const lineHeight = 20;

type Props = { text: string; file: string; label: string };

/** The text of a file, with its lines numbered. However long it is, only what is seen is made. */
export function SourceText({ text, file, label }: Props) {
  const lines = useMemo(() => tokensOf(text, file), [text, file]);
  const widest = useMemo(() => Math.max(...text.split("\n").map(({ length }) => length)), [text]);
  const area = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => area.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  return (
    <div ref={area} className={styles.area} role="region" aria-label={label} tabIndex={0}>
      <div
        className={styles.text}
        style={{ height: virtual.getTotalSize(), minWidth: `${widest + 8}ch` }}
      >
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div key={key} className={styles.row} style={{ transform: `translateY(${start}px)` }}>
            <SourceLine number={index + 1} tokens={lines[index] ?? []} />
          </div>
        ))}
      </div>
    </div>
  );
}
