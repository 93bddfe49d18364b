import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "../api/request.ts";
import { Button } from "../controls/button.tsx";
import styles from "./states.module.css";

type Props = {
  error: Error;
  /** Asks again. */
  onRetry?: () => void;
  children?: ReactNode;
};

/** What went wrong and what to do, in the words of the server. */
export function FailureNotice({ error, onRetry, children }: Props) {
  const { hint, details } =
    error instanceof ApiError ? error : { hint: "load the page again", details: [] };
  return (
    <div className={styles.failure} role="alert">
      <CircleAlert aria-hidden />
      <div className={styles.failureText}>
        <p className={styles.failureMessage}>{sentence(error.message)}</p>
        {details.length > 1 && (
          <ul className={styles.details}>
            {details.map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
          </ul>
        )}
        {hint && <p className={styles.failureHint}>{sentence(hint)}</p>}
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
