import { FileText } from "lucide-react";
import type { ReactNode } from "react";
import { filePathOf, isTruncated } from "../activity/truncated.ts";
import { laidOut } from "../schema/json.ts";
import { Cut } from "./cut.tsx";
import styles from "./value.module.css";

/** A value as a reader takes it in: text as text, all else as JSON; cut ones open in full. */
export function Value({ value }: { value: unknown }) {
  const path = filePathOf(value);
  if (path !== null) {
    return (
      <span className={styles.file}>
        <FileText aria-hidden /> {path}
      </span>
    );
  }
  if (isTruncated(value)) return <Cut value={value}>{(full) => <Value value={full} />}</Cut>;
  if (typeof value === "string") return <span className={styles.text}>{value || "“”"}</span>;
  return <code className={styles.json}>{jsonOf(value)}</code>;
}

/** Named values, each below the one before. */
export function Values({ values }: { values: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <Nothing>Nothing.</Nothing>;
  return (
    <dl className={styles.values}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Stands where there is nothing to show. */
export function Nothing({ children }: { children: ReactNode }) {
  return <p className={styles.nothing}>{children}</p>;
}

const shortest = 72;

const jsonOf = (value: unknown): string =>
  laidOut(value, shortest) ?? "It is nested too deeply to be shown.";
