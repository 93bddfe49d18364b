import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Ellipsis, Play, Workflow } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { count, counted } from "../../lib/format.ts";
import { reportFirstRead, useIsFirstRead } from "../../lib/first-read.ts";
import type { ThreadFilter } from "../../lib/thread-filter.ts";
import type { ThreadsSearch } from "../../lib/search.ts";
import { threadsQuery } from "../../lib/threads.ts";
import { Button, Command } from "../../ui/button.tsx";
import { later, loadWhenIdle } from "../../ui/later.tsx";
import { Page, useKeys, useTitle } from "../../ui/page.tsx";
import { Empty, FailureNotice, Skeleton } from "../../ui/states.tsx";
import { textOfFilter } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { useSelection } from "./selection.ts";
import { ThreadTable } from "./thread-table.tsx";
import { Views } from "./views.tsx";

const StartDialog = later(
  async () => (await import("../../workflow/start/start-dialog.tsx")).StartDialog,
);
const HourStrip = later(async () => (await import("./hour-strip.tsx")).HourStrip);
const InterruptedLine = later(async () => (await import("./all-threads.tsx")).InterruptedLine);
const SelectionBar = later(async () => (await import("./bulk.tsx")).SelectionBar);
const ListMenu = later(async () => (await import("./all-threads.tsx")).ListMenu);

/** Number of rows of the first page, small for slow connections. Must equal the number in public/early.js. */
const firstRows = 12;

export function ThreadsPage() {
  useTitle("Threads");
  const { start, ...filter } = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
  const setSearch = (change: ThreadsSearch) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const [isOpen, setOpen] = useState(false);
  const [isSelecting, setSelecting] = useState(false);
  const isFirstRead = useIsFirstRead();
  const more = useRef<HTMLButtonElement>(null);
  useKeys({ n: () => setSearch({ start: "" }) });
  return (
    <Page
      title="Threads"
      actions={
        <>
          <Button
            ref={more}
            look="quiet"
            icon={<Ellipsis />}
            aria-label="More"
            aria-haspopup="menu"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          />
          <Button look="solid" icon={<Play />} onClick={() => setSearch({ start: "" })}>
            Start
          </Button>
        </>
      }
    >
      <ListMenu
        isOpen={isOpen}
        anchor={() => more.current}
        onClose={() => setOpen(false)}
        onSelect={() => setSelecting(true)}
      />
      <InterruptedLine isOpen={isFirstRead} />
      <div className="min-h-17">
        <HourStrip isOpen={isFirstRead} filter={filter} onChange={setSearch} />
      </div>
      <Views filter={filter} />
      <Filters filter={filter} onChange={setSearch} />
      <List {...{ filter, isSelecting }} onClear={() => void navigate({ search: {} })} />
      <StartDialog
        isOpen={start !== undefined}
        workflow={start}
        onClose={() => setSearch({ start: undefined })}
      />
    </Page>
  );
}

type ListProps = { filter: ThreadFilter; isSelecting: boolean; onClear: () => void };

function List({ filter, isSelecting, onClear }: ListProps) {
  const search = useSettled(filter.q ?? "");
  const list = useInfiniteQuery(threadsQuery({ ...filter, q: search || undefined }, firstRows));
  const rows = list.data?.pages.flatMap((page) => page.rows) ?? [];
  const selection = useSelection(rows);
  const [note, setNote] = useState("");
  const isRead = list.data !== undefined;
  useEffect(() => {
    if (!isRead) return;
    reportFirstRead();
    loadWhenIdle();
  }, [isRead]);
  if (list.error && !list.data) {
    return <FailureNotice error={list.error} onRetry={() => void list.refetch()} />;
  }
  if (!list.data) return <Skeleton lines={9} />;
  if (rows.length > 0) {
    const readMore = () => {
      if (list.hasNextPage && !list.isFetching) void list.fetchNextPage();
    };
    const copy = async (id: string) => {
      try {
        await navigator.clipboard.writeText(id);
        setNote(`Copied the id ${id}.`);
      } catch {
        setNote(`The browser refused to copy the id ${id}.`);
      }
    };
    const total = list.hasNextPage ? (list.data.pages[0]?.total ?? null) : rows.length;
    return (
      <>
        <p className="-mb-2 flex justify-between gap-3 text-small text-muted">
          <span role="status">{note}</span>
          <span className="flex-none">
            {list.isPlaceholderData ? "Searching…" : countOf(rows.length, total)}
          </span>
        </p>
        <ThreadTable
          {...{ rows, search, selection }}
          isSelecting={isSelecting || selection.rows.length > 0}
          hasMore={list.hasNextPage}
          onEnd={readMore}
          onCopy={(id) => void copy(id)}
        />
        <SelectionBar isOpen={selection.rows.length > 0} selection={selection} onDone={setNote} />
      </>
    );
  }
  if (textOfFilter(filter) === "[]") return <NoThreads />;
  return (
    <Empty title="No matching threads">
      <p>No thread has all of these words and filters.</p>
      <Button onClick={onClear}>Show all threads</Button>
    </Empty>
  );
}

/** Pause in typing after which a search starts, in milliseconds. */
const settledMs = 150;

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
