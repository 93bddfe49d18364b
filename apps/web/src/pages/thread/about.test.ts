import type { Relative } from "@uncaged/workflow-server/api-types";
import { expect, test } from "bun:test";
import { treeOf } from "./about.tsx";

const relative = (threadId: string, parent: string | null): Relative => ({
  threadId,
  workflow: "w",
  workedMs: 0,
  waitedMs: 0,
  hash: "h",
  status: "completed",
  steps: 3,
  createdAt: 0,
  subject: "",
  at: { role: null, text: null },
  spent: { tokens: 0, cost: 0, unpriced: 0 },
  hasError: false,
  forkFrom: parent === null ? null : { threadId: parent, steps: 1 },
});

test("a family is listed in tree order", () => {
  const family = [relative("A", null), relative("B", "A"), relative("C", "A"), relative("D", "B")];
  expect(treeOf(family).map(({ relative: { threadId }, depth }) => [threadId, depth])).toEqual([
    ["A", 0],
    ["B", 1],
    ["D", 2],
    ["C", 1],
  ]);
});

test("a fork of a deleted thread is the root of a separate tree", () => {
  expect(treeOf([relative("B", "gone")])).toMatchObject([{ depth: 0 }]);
});
