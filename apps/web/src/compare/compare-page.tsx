import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { diffQuery, threadQuery } from "../api/threads.ts";
import { buttonClass } from "../controls/button.tsx";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { isEnded } from "../status/statuses.ts";
import styles from "./compare.module.css";
import { ComparedThread } from "./compared-thread.tsx";
import { verdictOf } from "./pairs.ts";
import { PairList } from "./pair-list.tsx";
import { TextPair } from "./text-pair.tsx";

const readAgainMs = 2_000;

/** Two threads side by side, with what differs marked. */
export function ComparePage() {
  const { id, other } = useParams({ from: "/threads/$id/compare/$other" });
  useTitle("Compare");
  const left = useQuery({ ...threadQuery(id), refetchInterval: readAgainMs });
  const right = useQuery({ ...threadQuery(other), refetchInterval: readAgainMs });
  const mayGrow = [left.data, right.data].some((thread) => thread && !isEnded(thread.status));
  const diff = useQuery({ ...diffQuery(id, other), refetchInterval: mayGrow && readAgainMs });
  const error = left.error ?? right.error ?? diff.error;
  return (
    <Page
      title="Compare two threads"
      note={diff.data && verdictOf(diff.data)}
      actions={
        <Link
          to="/threads/$id/compare/$other"
          params={{ id: other, other: id }}
          className={buttonClass()}
        >
          <ArrowLeftRight aria-hidden />
          Swap sides
        </Link>
      }
    >
      {error && <FailureNotice error={error} onRetry={() => void diff.refetch()} />}
      {!error && !(left.data && right.data && diff.data) && <Skeleton lines={10} />}
      {left.data && right.data && diff.data && (
        <div className={styles.compare}>
          <div className={styles.heads}>
            <ComparedThread thread={left.data} side="left" />
            <ComparedThread thread={right.data} side="right" />
          </div>
          {!diff.data.prompt.same && (
            <section className={styles.prompt} aria-label="Prompts">
              <h2>Prompt</h2>
              <TextPair a={diff.data.prompt.a} b={diff.data.prompt.b} />
            </section>
          )}
          <PairList pairs={diff.data.steps} />
        </div>
      )}
    </Page>
  );
}
