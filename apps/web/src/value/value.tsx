import type { Step } from "@uncaged/workflow-server/api-types";
import { FileText } from "lucide-react";
import { createContext, type ReactNode, useContext, useState } from "react";
import { filePathOf, fullOf, isTruncated, type Truncated } from "../activity/truncated.ts";
import { Button } from "../controls/button.tsx";
import { size } from "../format/amount.ts";
import styles from "./value.module.css";

/** Where cut values are looked for in full. */
export type Committed = { prompt: string; steps: readonly Step[] };

/** The committed steps of the thread whose values are shown. */
export const CommittedContext = createContext<Committed>({ prompt: "", steps: [] });

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
  if (isTruncated(value)) return <Cut value={value} />;
  if (typeof value === "string") return <span className={styles.text}>{value || "“”"}</span>;
  return <code className={styles.json}>{jsonOf(value)}</code>;
}

function Cut({ value }: { value: Truncated }) {
  const { prompt, steps } = useContext(CommittedContext);
  const [full, setFull] = useState<{ value: unknown } | "lost" | null>(null);
  if (full && full !== "lost") return <Value value={full.value} />;
  return (
    <span className={styles.cut}>
      <code className={styles.json}>{value.preview}</code>
      {full === "lost" ? (
        <em>{size(value.length)} in all. The log keeps no more of it than this.</em>
      ) : (
        <Button small onClick={() => setFull(fullOf(value, prompt, steps) ?? "lost")}>
          Show all ({size(value.length)})
        </Button>
      )}
    </span>
  );
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

function jsonOf(value: unknown): string {
  const line = JSON.stringify(value) ?? "undefined";
  return line.length <= shortest ? line : JSON.stringify(value, null, 2);
}
