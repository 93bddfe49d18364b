import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { describe, expect, test } from "bun:test";
import { changeRows } from "../../lib/lists.ts";
import { readThreadsSearch } from "../../lib/search.ts";
import { countOf } from "./threads-page.tsx";

const row = (threadId: string, more: Partial<ThreadRow> = {}): ThreadRow => ({
  threadId,
  workflow: "review",
  hash: "EYHPV6X8XHTCS",
  status: "running",
  steps: 1,
  createdAt: 0,
  updatedAt: 0,
  workedMs: 0,
  waitedMs: 0,
  subject: "",
  at: { role: null, text: null },
  spent: { tokens: 0, cost: 0, unpriced: 0 },
  hasError: false,
  ...more,
});

describe("the count", () => {
  test.each([
    [20, 10_412, "20 of 10,412 threads"],
    [1, 1, "1 thread"],
    [40, 40, "40 threads"],
    [100, null, "the newest 100 threads"],
  ])("of %j and %j is %s", (read, total, text) => {
    expect(countOf(read, total)).toBe(text);
  });
});

describe("the address of the page", () => {
  test("keeps valid filters and drops others", () => {
    const given = { status: "failed,odd", since: "24h", until: "never", cost: "1", worked: "soon" };
    expect(readThreadsSearch({ ...given, q: 12, workflow: "", error: true })).toEqual({
      status: "failed",
      workflow: undefined,
      version: undefined,
      since: "24h",
      until: undefined,
      worked: undefined,
      cost: 1,
      error: true,
      q: "12",
      start: undefined,
    });
  });

  test("reads several statuses in one text or in a list", () => {
    expect(readThreadsSearch({ status: "killed,failed" }).status).toBe("failed,killed");
    expect(readThreadsSearch({ status: ["waiting", "odd"] }).status).toBe("waiting");
  });
});

describe("a change of a thread", () => {
  const page = (one: ThreadRow) => ({ rows: [one], total: 2, hasMore: true });
  const pages = {
    pages: [page(row("A")), page(row("B"))],
    pageParams: [0, 100],
  };

  test("appears in the row", () => {
    const changed = changeRows(pages, { row: row("A", { status: "completed", steps: 2 }) });
    expect(changed.pages[0]?.rows[0]).toMatchObject({
      status: "completed",
      steps: 2,
    });
    expect(changed.pages[1]).toEqual(pages.pages[1] as (typeof pages.pages)[1]);
  });

  test("removes a deleted thread", () => {
    expect(changeRows(pages, { removed: "B" }).pages[1]?.rows).toEqual([]);
  });
});
