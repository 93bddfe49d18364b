import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ApiError } from "../api/request.ts";
import { threadQuery } from "../api/threads.ts";
import { useTitle } from "../shell/title.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { Deleted } from "./deleted.tsx";
import { ThreadView } from "./thread-view.tsx";
import styles from "./thread.module.css";

/** One thread, live. */
export function ThreadPage() {
  const { id } = useParams({ from: "/threads/$id" });
  const { data: thread, error, refetch } = useQuery(threadQuery(id));
  useTitle(thread ? `${thread.workflow} ${thread.status}` : "Thread");
  const isGone = error instanceof ApiError && error.status === 404;
  if (thread && isGone) return <Deleted />;
  if (thread) return <ThreadView key={thread.threadId} thread={thread} />;
  return (
    <div className={styles.page}>
      <h1>Thread {id}</h1>
      {error ? (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={10} />
      )}
    </div>
  );
}
