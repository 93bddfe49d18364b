import type { ReactNode } from "react";
import styles from "./states.module.css";

type Props = { icon?: ReactNode; title: string; children?: ReactNode };

/** What stands where there is nothing yet: why, and what to do. */
export function Empty({ icon, title, children }: Props) {
  return (
    <div className={styles.empty}>
      {icon && <div className={styles.emptyIcon}>{icon}</div>}
      <h2>{title}</h2>
      {children}
    </div>
  );
}
