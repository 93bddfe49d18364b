import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { historyQuery } from "../api/workflows.ts";
import { Button } from "../controls/button.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { VersionCard } from "./version-card.tsx";
import styles from "./versions.module.css";

const atOnce = 10;

/** The versions of a workflow, newest first, each with what it changed. */
export function Versions({ name }: { name: string }) {
  const { data: versions, error, refetch } = useQuery(historyQuery(name));
  const [shown, setShown] = useState(atOnce);
  if (!versions) {
    if (error) return <FailureNotice error={error} onRetry={() => void refetch()} />;
    return <Skeleton lines={8} />;
  }
  const current = versions.findIndex((one) => one.current);
  return (
    <>
      <ol className={styles.versions}>
        {versions.slice(0, shown).map((version, at) => (
          <VersionCard
            key={version.hash}
            name={name}
            version={version}
            before={versions[at + 1] ?? null}
            isOlder={at > current}
          />
        ))}
      </ol>
      {versions.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>
          Show {Math.min(atOnce, versions.length - shown)} earlier versions
        </Button>
      )}
    </>
  );
}
