import type { ThreadRow } from "@uncaged/workflow-server/api-types";
import { describe, expect, test } from "bun:test";
import { changeRows } from "../../lib/lists.ts";
import { readThreadsSearch } from "../../lib/search.ts";
import { countOf, mayBeId, rowsWith } from "./threads-page.tsx";

const row = (threadId: string, more: Partial<ThreadRow> = {}): ThreadRow => ({
  threadId,
  workflow: "review",
  hash: "EYHPV6X8XHTCS",
  status: "running",
  steps: 1,
  createdAt: 0,
  updatedAt: 0,
  ...more,
});

describe("the search", () => {
  test("finds by a part of the id, the workflow or the role, in any case", () => {
    const rows = [
      row("01AAA"),
      row("01BBB", { workflow: "greet" }),
      row("01CCC", { role: "Coder" }),
    ];
    expect(rowsWith(rows, "bb").map(({ threadId }) => threadId)).toEqual(["01BBB"]);
    expect(rowsWith(rows, "GREET")).toHaveLength(1);
    expect(rowsWith(rows, "coder")).toHaveLength(1);
    expect(rowsWith(rows, " ")).toHaveLength(3);
  });

  test("asks the server only for what may be an id", () => {
    expect(["01JD0Q", "@last", "a b", "xyz"].map(mayBeId)).toEqual([true, true, false, false]);
  });
});

describe("the count", () => {
  test.each([
    [{ shown: 20, read: 20, total: 10_412 }, "20 of 10,412 threads"],
    [{ shown: 1, read: 1, total: 1 }, "1 thread"],
    [{ shown: 3, read: 100, total: 10_412 }, "3 found in 100 of 10,412 threads"],
    [{ shown: 3, read: 40, total: 40 }, "3 found in 40 threads"],
    [{ shown: 100, read: 100, total: null }, "the newest 100 threads"],
  ])("of %j is %s", (counts, text) => {
    expect(countOf(counts)).toBe(text);
  });
});

describe("the address of the page", () => {
  test("keeps the filters that there are, and no others", () => {
    expect(readThreadsSearch({ status: ["failed", "odd"], q: 12, workflow: "" })).toEqual({
      status: ["failed"],
      workflow: undefined,
      q: "12",
      start: undefined,
    });
    expect(readThreadsSearch({ status: "waiting" }).status).toEqual(["waiting"]);
  });
});

describe("a change of a thread", () => {
  const page = (one: ThreadRow) => ({ rows: [one], total: 2, hasMore: true });
  const pages = {
    pages: [page(row("A", { role: "coder" })), page(row("B"))],
    pageParams: [0, 100],
  };

  test("shows in the row, which keeps the other fields", () => {
    const changed = changeRows(pages, { row: row("A", { status: "completed", steps: 2 }) });
    expect(changed.pages[0]?.rows[0]).toMatchObject({
      status: "completed",
      steps: 2,
      role: "coder",
    });
    expect(changed.pages[1]).toEqual(pages.pages[1] as (typeof pages.pages)[1]);
  });

  test("takes a removed thread away", () => {
    expect(changeRows(pages, { removed: "B" }).pages[1]?.rows).toEqual([]);
  });
});
