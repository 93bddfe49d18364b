import type { ReactNode } from "react";
import styles from "./facts.module.css";

/** A label, a value, and what is shown when one points at it. Null values are left out. */
export type Fact = readonly [label: ReactNode, value: ReactNode, title?: string];

type Props = {
  facts: readonly Fact[];
  /** `row`: beside each other, each value below its label. */
  look: "row" | "list";
  className?: string;
};

export function Facts({ facts, look, className = "" }: Props) {
  return (
    <dl className={`${styles[look]} ${className}`}>
      {facts
        .filter(([, value]) => value !== null)
        .map(([label, value, title], at) => (
          <div key={at}>
            <dt>{label}</dt>
            <dd title={title}>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
