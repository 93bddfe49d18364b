import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import type { HostEvents } from "@uncaged/workflow-server/api-types";
import { useEffect } from "react";
import { threadKeys } from "../api/threads.ts";
import { workflowKeys } from "../api/workflows.ts";
import { type Change, changeRows, type Pages } from "./rows.ts";
import { Stream } from "./stream.ts";

/** The lists are read again this often at the most; what an event has is shown at once. */
const readEveryMs = 1_500;
const atOnceMs = 50;

/** Keeps the lists of threads and workflows as the storage root is, for as long as a page shows them. */
export function useStoreEvents(): void {
  const client = useQueryClient();
  useEffect(() => {
    const lists = new Lists(client);
    const stream = new Stream<HostEvents>({
      url: () => "/api/events",
      on: {
        reload: () => lists.readAll(),
        thread: (row) => lists.change({ row }),
        removed: ({ threadId }) => lists.change({ removed: threadId }),
        workflows: () => void client.invalidateQueries({ queryKey: workflowKeys.all }),
      },
    });
    return () => {
      stream.close();
      lists.close();
    };
  }, [client]);
}

class Lists {
  readonly #client: QueryClient;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isFirst = true;
  #readAt = 0;

  constructor(client: QueryClient) {
    this.#client = client;
  }

  /** The first time the lists are being read anyway. */
  readAll(): void {
    if (!this.#isFirst) void this.#client.invalidateQueries();
    this.#isFirst = false;
    this.#readSoon();
  }

  change(change: Change): void {
    this.#isFirst = false;
    this.#client.setQueriesData<Pages>({ queryKey: threadKeys.lists }, (pages) =>
      pages ? changeRows(pages, change) : pages,
    );
    this.#readSoon();
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }

  // A list of many pages is read page by page: the longer it is, the more seldom.
  #readSoon(): void {
    const next = this.#readAt + readEveryMs * this.#mostPages();
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null;
        this.#readAt = Date.now();
        void this.#client.invalidateQueries({ queryKey: threadKeys.lists });
        void this.#client.invalidateQueries({ queryKey: threadKeys.newest });
      },
      Math.max(atOnceMs, next - Date.now()),
    );
  }

  #mostPages(): number {
    const lists = this.#client.getQueriesData<Pages>({ queryKey: threadKeys.lists });
    return Math.max(1, ...lists.map(([, data]) => data?.pages.length ?? 1));
  }
}
