import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Thread, ThreadRow } from "@uncaged/workflow-server/api-types";
import { Play, Workflow } from "lucide-react";
import { StartDialog } from "../../features/start/start-dialog.tsx";
import { count, counted } from "../../lib/format.ts";
import type { ThreadsSearch } from "../../lib/search.ts";
import { threadQuery, threadsQuery } from "../../lib/threads.ts";
import { Button, Command } from "../../ui/button.tsx";
import { Page, useKeys, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { Filters } from "./filters.tsx";
import { ThreadTable } from "./thread-table.tsx";

export function ThreadsPage() {
  useTitle("Threads");
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
          <p className="-mb-3.5 text-right text-small text-muted">
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

export function rowsWith(rows: readonly ThreadRow[], text: string): ThreadRow[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [...rows];
  return rows.filter(({ threadId, workflow, hash, role }) =>
    [threadId, workflow, hash, role ?? ""].some((one) => one.toLowerCase().includes(wanted)),
  );
}

/** Whether the server may know a thread by a text: a part of an id. */
export const mayBeId = (text: string): boolean => /^(@last|[0-9a-z]{4,26})$/i.test(text.trim());

function rowOf(thread: Thread): ThreadRow {
  const { threadId, workflow, hash, status, stepCount, createdAt, last } = thread;
  return {
    threadId,
    workflow,
    hash,
    status,
    steps: stepCount,
    createdAt,
    updatedAt: last?.timestamp ?? createdAt,
    role: last?.role,
  };
}

type Counts = {
  shown: number;
  read: number;
  /** How many there are; null when that is not known. */
  total: number | null;
};

/** How many threads a list shows, and of how many: `100 of 10,412 threads`. */
export function countOf({ shown, read, total }: Counts): string {
  const listed = listedOf(read, total);
  return shown < read ? `${count(shown)} found in ${listed}` : listed;
}

function listedOf(read: number, total: number | null): string {
  if (total === null) return `the newest ${counted(read, "thread")}`;
  return read < total ? `${count(read)} of ${counted(total, "thread")}` : counted(total, "thread");
}
