import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Play, Workflow } from "lucide-react";
import { useEffect, useState } from "react";
import { StartDialog } from "../../workflow/start/start-dialog.tsx";
import { count, counted } from "../../lib/format.ts";
import type { ThreadsSearch } from "../../lib/search.ts";
import { threadsQuery } from "../../lib/threads.ts";
import { Button, Command } from "../../ui/button.tsx";
import { Page, useKeys, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { Filters } from "./filters.tsx";
import { InterruptedLine, StopAll } from "./stop-all.tsx";
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
        <>
          <StopAll />
          <Button look="solid" icon={<Play />} onClick={() => setSearch({ start: "" })}>
            Start
          </Button>
        </>
      }
    >
      <InterruptedLine />
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
  const list = useInfiniteQuery(
    threadsQuery({ status, workflow, search: useSettled(q) || undefined }),
  );
  if (list.error && !list.data) {
    return <FailureNotice error={list.error} onRetry={() => void list.refetch()} />;
  }
  if (!list.data) return <Skeleton lines={9} />;
  const rows = list.data.pages.flatMap((page) => page.rows);
  if (rows.length > 0) {
    const readMore = () => {
      if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
    };
    const total = list.hasNextPage ? (list.data.pages[0]?.total ?? null) : rows.length;
    return (
      <>
        <p className="-mb-1 text-right text-small text-muted">{countOf(rows.length, total)}</p>
        <ThreadTable rows={rows} hasMore={list.hasNextPage} onEnd={readMore} />
      </>
    );
  }
  if (q === "" && !status && !workflow) return <NoThreads />;
  return (
    <Empty title="No matching threads">
      <p>No thread contains all of these words with these filters.</p>
      <Button onClick={onClear}>Show all threads</Button>
    </Empty>
  );
}

/** Pause in typing after which a search starts, in milliseconds. */
const settledMs = 150;

/** A typed text, updated after a pause in typing. */
function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), text === "" ? 0 : settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled.trim();
}

function NoThreads() {
  return (
    <Empty icon={<Workflow />} title="No thread yet">
      <p>A thread is one run of a workflow. Start one with the button above, or in a terminal:</p>
      <Command>uncaged-workflow run greet --prompt "you"</Command>
      <p>It appears here immediately.</p>
    </Empty>
  );
}

/** A text with the number of listed threads and the number of all threads; `total` is null if unknown. */
export function countOf(read: number, total: number | null): string {
  if (total === null) return `the newest ${counted(read, "thread")}`;
  return read < total ? `${count(read)} of ${counted(total, "thread")}` : counted(total, "thread");
}
