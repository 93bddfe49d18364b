import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { MapPinOff } from "lucide-react";
import { buttonClass } from "../controls/button.tsx";
import { Empty } from "../states/empty.tsx";
import { FailureNotice } from "../states/failure.tsx";
import styles from "./shell.module.css";

/** Stands in for a page that could not be shown. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  return (
    <div className={styles.pageFailure}>
      <FailureNotice
        error={error instanceof Error ? error : new Error(String(error))}
        onRetry={reset}
      />
    </div>
  );
}

/** Stands where there is no page. */
export function NoPage() {
  return (
    <Empty icon={<MapPinOff />} title="There is no such page">
      <Link to="/" className={buttonClass()}>
        To the threads
      </Link>
    </Empty>
  );
}
