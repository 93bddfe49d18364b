import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Play, Workflow } from "lucide-react";
import { threadQuery, threadsQuery } from "../api/threads.ts";
import { Button } from "../controls/button.tsx";
import { Command } from "../controls/copy.tsx";
import { useStoreEvents } from "../events/use-store-events.ts";
import { useKeys } from "../shell/keys.ts";
import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";
import { StartDialog } from "../start/start-dialog.tsx";
import { Empty } from "../states/empty.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import { countOf } from "./count.ts";
import { Filters } from "./filters.tsx";
import { mayBeId, rowOf, rowsWith } from "./found.ts";
import type { ThreadsSearch } from "./search.ts";
import { ThreadTable } from "./thread-table.tsx";
import styles from "./threads-page.module.css";

/** All threads, live. */
export function ThreadsPage() {
  useTitle("Threads");
  useStoreEvents();
  const search = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const setSearch = (change: Partial<ThreadsSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  useKeys({ n: () => setSearch({ start: "" }) });
  return (
    <Page
      title="Threads"
      actions={
        <Button look="solid" icon={<Play />} onClick={() => setSearch({ start: "" })}>
          Start
        </Button>
      }
    >
      <Filters search={search} onChange={setSearch} />
      <List search={search} onClear={() => void navigate({ search: {} })} />
      <StartDialog
        isOpen={search.start !== undefined}
        workflow={search.start}
        onClose={() => setSearch({ start: undefined })}
      />
    </Page>
  );
}

type ListProps = { search: ThreadsSearch; onClear: () => void };

function List({ search: { q = "", status, workflow }, onClear }: ListProps) {
  const list = useInfiniteQuery(threadsQuery({ status, workflow }));
  const read = list.data?.pages.flatMap((page) => page.rows) ?? [];
  const rows = rowsWith(read, q);
  const isMissing = q !== "" && list.isSuccess && rows.length === 0;
  const one = useQuery({ ...threadQuery(q), enabled: isMissing && mayBeId(q), retry: false });
  const shown = isMissing && one.data ? [rowOf(one.data)] : rows;
  if (list.error && !list.data) {
    return <FailureNotice error={list.error} onRetry={() => void list.refetch()} />;
  }
  if (!list.data || (isMissing && one.isLoading)) return <Skeleton lines={9} />;
  if (shown.length > 0) {
    const readMore = () => {
      if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
    };
    const total = list.hasNextPage ? (list.data.pages[0]?.total ?? null) : read.length;
    return (
      <>
        {!isMissing && (
          <p className={styles.count}>
            {countOf({ shown: shown.length, read: read.length, total })}
          </p>
        )}
        <ThreadTable rows={shown} hasMore={list.hasNextPage} onEnd={readMore} />
      </>
    );
  }
  if (q === "" && !status && !workflow) return <NoThreads />;
  return (
    <Empty title="No thread fits">
      <p>Nothing of what was read fits the search and the filters.</p>
      <Button onClick={onClear}>Show all threads</Button>
    </Empty>
  );
}

function NoThreads() {
  return (
    <Empty icon={<Workflow />} title="No thread yet">
      <p>A thread is one run of a workflow. Start one with the button above, or in a terminal:</p>
      <Command>uncaged-workflow run greet --prompt "you"</Command>
      <p>It shows here at once.</p>
    </Empty>
  );
}
