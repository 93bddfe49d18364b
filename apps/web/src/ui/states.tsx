import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "../lib/request.ts";
import { Button } from "./button.tsx";
import styles from "./states.module.css";

type EmptyProps = { icon?: ReactNode; title: string; children?: ReactNode };

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className={styles.empty}>
      {icon && <div className={styles.emptyIcon}>{icon}</div>}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

type FailureProps = {
  error: Error;
  /** Asks again. */
  onRetry?: () => void;
  children?: ReactNode;
};

export function FailureNotice({ error, onRetry, children }: FailureProps) {
  const { hint, details } =
    error instanceof ApiError ? error : { hint: "load the page again", details: [] };
  return (
    <div className={styles.failure} role="alert">
      <CircleAlert aria-hidden />
      <div className={styles.failureText}>
        <p className="strong">{sentence(error.message)}</p>
        {details.length > 1 && (
          <ul className={styles.details}>
            {details.map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
          </ul>
        )}
        {hint && <p className="muted">{sentence(hint)}</p>}
        {children}
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

type SkeletonProps = { lines?: number; what?: string };

export function Skeleton({ lines = 6, what = "Loading" }: SkeletonProps) {
  return (
    <div className={styles.skeleton} role="status" aria-label={what}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}
