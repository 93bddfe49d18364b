import type { ReactNode } from "react";

/** A label, a value and a tooltip. Facts with a null value are hidden. */
export type Fact = readonly [label: ReactNode, value: ReactNode, title?: string];

const column = { item: "", label: "text-small text-faint", value: "" };

/**
 * Classes by layout. `line` puts facts on one line, each value before its label. `row` and `columns` put facts side by
 * side, each value below its label.
 */
const looks = {
  row: { ...column, list: "flex flex-wrap gap-x-8 gap-y-1 max-sm:gap-x-5" },
  columns: {
    ...column,
    list: "grid grid-cols-[8rem_6rem_8rem] gap-4 max-lg:flex max-lg:flex-wrap max-lg:gap-x-5 max-lg:gap-y-1",
    item: "max-lg:flex max-lg:gap-1 max-lg:text-small",
  },
  line: {
    list: "flex flex-wrap items-center gap-x-5 gap-y-1",
    item: "flex flex-row-reverse gap-1",
    label: "text-muted",
    value: "font-semibold",
  },
  list: {
    list: "grid gap-1",
    item: "grid grid-cols-[clamp(5.5rem,22%,10rem)_minmax(0,1fr)] gap-3 max-sm:grid-cols-[minmax(0,1fr)] max-sm:gap-0.5",
    label: "text-muted wrap-anywhere",
    value: "wrap-anywhere",
  },
} as const;

type Props = { facts: readonly Fact[]; look: keyof typeof looks; className?: string };

export function Facts({ facts, look, className = "" }: Props) {
  const of = looks[look];
  return (
    <dl className={`${of.list} ${className}`}>
      {facts
        .filter(([, value]) => value !== null)
        .map(([label, value, title], at) => (
          <div key={at} className={of.item}>
            <dt className={of.label}>{label}</dt>
            <dd className={of.value} title={title}>
              {value}
            </dd>
          </div>
        ))}
    </dl>
  );
}
