import type { ReactNode } from "react";
import styles from "./shell.module.css";

type Props = { title: ReactNode; note?: ReactNode; actions?: ReactNode; children: ReactNode };

/** A page: its heading, what can be done there, and what it shows. */
export function Page({ title, note, actions, children }: Props) {
  return (
    <div className={styles.page}>
      <div className={styles.heading}>
        <div>
          <h1>{title}</h1>
          {note && <p className={styles.note}>{note}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}
