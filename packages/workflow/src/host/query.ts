import type { Limits } from "../record/filter.ts";
import type { Status, ThreadRow } from "../record/thread.ts";

/** Selects the threads to list. `workflow` is a name, `name@hash`, a hash or its unique prefix. */
export type ThreadQuery = ThreadFilter & {
  /** Maximum number of threads on a page, 20 by default. */
  limit?: number;
  offset?: number;
  /** Lists only the threads after this thread id in the order of the list, even when that thread was removed. */
  before?: string;
  /** False skips computing `next`, which may need to read logs. */
  paged?: boolean;
};

/** Selects threads by their rows. */
export type ThreadFilter = Limits & {
  status?: Status | readonly Status[] | undefined;
  workflow?: string | undefined;
  /** Lists only threads with all of these words in id, name, roles, prompt, params, question, result or error. */
  search?: string | undefined;
};

/**
 * A page of threads. `total` counts all pages, or is null when counting would require reading their logs. `next` is the
 * `before` of the next page, or null on the last page. Creating or removing threads between two pages does not shift
 * pages.
 */
export type ThreadPage = { rows: ThreadRow[]; total: number | null; next: string | null };
